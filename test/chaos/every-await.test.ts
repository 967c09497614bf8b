import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { events, type Event } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { until } from '../support/wait.ts';
import { FaultyMachine } from './faulty-machine.ts';
import { FaultyParts, SAID, type AwaitFault } from './faulty-parts.ts';
import { isShort, sample } from '../support/form.ts';

/** Only one fault in this many is tried; 1 for all of them. */
const STRIDE = Number(process.env['CHAOS_AWAIT_STRIDE'] ?? (isShort ? '305' : '61'));
const ONLY = new RegExp(process.env['CHAOS_AWAIT_ONLY'] ?? '');
/** The number of calls of one method that are tried. */
const FIRST = Number(process.env['CHAOS_AWAIT_FIRST'] ?? '2');
/** Milliseconds in which a dispatcher has to be done although one call has failed. */
const PATIENCE = 120_000;

/**
 * Failures that need no report: the checkout is not part of delivery, and `doctor` examines it; a
 * process that waits for a flush is answered before the flush ends.
 */
const QUIET = /^(Transport\.fastForward|Publisher\.flush)$/;

const parts = new FaultyParts();
const machine = new FaultyMachine();
const rejections: unknown[] = [];
const note = (reason: unknown): void => void rejections.push(reason);

beforeAll(async () => {
  parts.install();
  process.on('unhandledRejection', note);
  await machine.open();
  await machine.askFour();
  await machine.keep();
});

afterAll(() => {
  parts.uninstall();
  process.off('unhandledRejection', note);
});

/** How the dispatcher with the failing call runs: until everything is done, or for one pass. */
type Mode = 'going on' | 'one pass';

/** Runs a dispatcher with one failing call and a healthy one after it; returns the problems. */
async function tried(fault: AwaitFault | undefined, mode: Mode): Promise<string[]> {
  machine.restore();
  const { ledger } = machine;
  parts.onRecorded = (messages) => {
    for (const message of messages) appendFileSync(ledger, `recorded ${message}\n`);
  };
  rejections.length = 0;
  parts.listen(fault);
  const problems: string[] = [];
  const ran = mode === 'one pass' ? await onePass() : await goingOn(problems);
  parts.silence();
  if (/^\s+at .+:\d+/m.test(ran.err)) problems.push(`a stack trace: ${ran.err}`);
  const isQuiet = fault !== undefined && QUIET.test(fault.method);
  if (parts.hit && !isQuiet && !ran.err.includes(SAID)) problems.push('it is not said');
  problems.push(...rejections.map((reason) => `not handled: ${String(reason)}`));

  // The next dispatcher does whatever is left.
  problems.push(...(await machine.settle()));
  return [...problems, ...machine.leftOfFour(), ...machine.repeated()];
}

function onePass(): Promise<Ran> {
  return machine.host.run('dispatch', '--once', '--host', 'front');
}

/** Ends once everything is done, by the one dispatcher whose call has failed. */
async function goingOn(problems: string[]): Promise<Ran> {
  const stop = new AbortController();
  const seen: Event[] = [];
  const state = { over: false };
  const running = machine.host
    .runWith(
      { stop: stop.signal, onErr: (text) => void seen.push(...events(text)) },
      ...['dispatch', '--host', 'front', '--interval', '0.2'],
    )
    .finally(() => (state.over = true));
  const isIdle = (): boolean => {
    const last = seen.filter(({ event }) => event === 'tick').at(-1);
    return last?.['pending'] === 0 && last['running'] === 0;
  };
  const reached = (): boolean => state.over || (isIdle() && machine.leftOfFour().length === 0);
  await until('all to be done', reached, PATIENCE).catch(() =>
    problems.push(`it does not go on by itself: ${JSON.stringify(seen.slice(-12))}`),
  );
  const ended = state.over;
  stop.abort();
  const ran = await running;
  // A dispatcher that cannot start reports that and is started again; one that has served
  // continues.
  if (ended && seen.some(({ event }) => event === 'tick'))
    problems.push(`it ended by itself, with ${String(ran.code)}: ${ran.err.slice(-500)}`);
  return ran;
}

/**
 * Faults that were found by trying all calls, for example that an ended dispatcher still answered
 * requests.
 */
const FOUND: (AwaitFault & { mode: Mode })[] = [
  { method: 'Runs.leftovers', n: 1, when: 'before', mode: 'one pass' },
  { method: 'Dispatcher.stop', n: 1, when: 'after', mode: 'one pass' },
  { method: 'Runs.sent', n: 1, when: 'before', mode: 'one pass' },
  { method: 'RunBudget.note', n: 1, when: 'before', mode: 'going on' },
  { method: 'Runs.noteSent', n: 1, when: 'before', mode: 'going on' },
  { method: 'Runs.noteSent', n: 2, when: 'after', mode: 'one pass' },
];

it.each(sample(FOUND))(
  'when $method fails $when its work, $mode: all is done, once, and it is said',
  { tags: 'sampled' },
  async ({ mode, ...fault }) => {
    expect(await tried(fault, mode)).toEqual([]);
    expect(parts.hit).toBe(true);
  },
);

it(
  'whatever a dispatcher waits for may fail once: all is done, once, and it is said',
  { tags: 'sampled' },
  async () => {
    expect(await tried(undefined, 'going on')).toEqual([]);
    const counts = new Map(await counted());
    const faults = [...counts].flatMap(([method, count]) =>
      Array.from({ length: Math.min(FIRST, count) }, (_, index) => index + 1).flatMap((n) =>
        (['before', 'after'] as const).flatMap((when) =>
          (['going on', 'one pass'] as const).map((mode) => ({ method, n, when, mode })),
        ),
      ),
    );
    const found: string[] = [];
    const looked = faults.filter(({ method }, index) => index % STRIDE === 0 && ONLY.test(method));
    for (const { mode, ...fault } of looked) {
      const problems = await tried(fault, mode);
      const { method, n, when } = fault;
      const name = `${when} call ${String(n)} of ${method}, ${mode}`;
      for (const problem of problems) {
        found.push(`${name}: ${problem}`.slice(0, 2000));
        process.stdout.write(`${name}: ${problem.slice(0, 300)}\n`);
      }
      const seen = problems.map((problem) => problem.slice(0, 100)).join(' | ');
      if (STRIDE === 1)
        process.stdout.write(`${name}: ${parts.hit ? '' : 'not reached '}${seen}\n`);
    }
    process.stdout.write(`${String(faults.length)} awaits, ${String(looked.length)} tried\n`);
    expect(found).toEqual([]);
  },
);

/** The calls for which a dispatcher waits when everything succeeds, by method. */
async function counted(): Promise<[string, number][]> {
  const counts: [string, number][] = [];
  machine.restore();
  parts.listen();
  await machine.host.once();
  counts.push(...parts.counts);
  parts.silence();
  return counts.sort(([one], [other]) => one.localeCompare(other));
}
