import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { timeAndChanceOf } from '../../src/operations/time-and-chance.ts';
import type { LedgerLine } from '../../src/state/bills/ledger.ts';
import { agent } from './agents.ts';
import { events, type Event, type Host } from './bus.ts';
import type { Ran } from './command.ts';

export const DAY_MS = 86_400_000;

/** An agent CLI each of whose runs costs $0.25, and 42 tokens without those of the cache. */
export function billed(what = 'answer'): string {
  return agent('billed/claude', '-p', what);
}

/** A command by a clock that is off by so many milliseconds. */
export function runAt(host: Host, off: number, ...argv: string[]): Promise<Ran> {
  const timeAndChance = { ...timeAndChanceOf({}), now: () => new Date(Date.now() + off) };
  return host.runWith({ timeAndChance }, ...argv);
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

/** The runs of this month, by the ledger of a machine. */
export function billedRuns(host: Host): LedgerLine[] {
  if (!existsSync(ledgerFile(host))) return [];
  const lines = readFileSync(ledgerFile(host), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerLine);
}
