import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { clockOf } from '../../src/actions/clock.ts';
import type { LedgerLine } from '../../src/state/bills/ledger.ts';
import { agent } from './agents.ts';
import { events, type Bus, type Event, type Host } from './bus.ts';
import type { Ran } from './command.ts';

export const DAY_MS = 86_400_000;

/** An agent CLI each of whose runs costs $0.25, and 42 tokens without those of the cache. */
export function billed(what = 'answer'): string {
  return agent('billed/claude', '-p', what);
}

/**
 * An agent CLI of this name that prints one line and ends with an exit code.
 *
 * @param first commands of the shell that it begins with
 */
export function printing(bus: Bus, name: string, event: unknown, code: number, first = ''): string {
  const bin = join(bus.root, 'bin');
  mkdirSync(bin, { recursive: true });
  const line = JSON.stringify(event);
  const script = `#!/bin/sh\ncat > /dev/null\n${first}\necho '${line}'\nexit ${String(code)}\n`;
  writeFileSync(join(bin, name), script, { mode: 0o755 });
  return join(bin, name);
}

/** A command by a clock that is off by so many milliseconds. */
export function runAt(host: Host, off: number, ...argv: string[]): Promise<Ran> {
  const clock = { ...clockOf({}), now: () => new Date(Date.now() + off) };
  return host.runWith({ clock }, ...argv);
}

/** One pass of a dispatcher whose clock is off by so much; returns its log. */
export async function pass(host: Host, off = 0): Promise<Event[]> {
  const ran = await runAt(host, off, 'dispatch', '--once', '--host', host.alias);
  expect(ran.code, ran.err).toBe(0);
  return events(ran.err);
}

/** The file of this month in the ledger of a machine. */
export function ledgerFile(host: Host): string {
  return join(host.state, 'ledger', `${new Date().toISOString().slice(0, 7)}.jsonl`);
}

/** The runs on the bills of a machine, of whatever month: a pass may be of the next one. */
export function billedRuns(host: Host): LedgerLine[] {
  const folder = join(host.state, 'ledger');
  const files = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    : [];
  const lines = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerLine);
}
