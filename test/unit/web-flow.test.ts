import { expect, it } from 'vitest';
import { errandsOf } from '../../src/actions/page/errands.ts';
import { draw } from '../../src/actions/page/flow.ts';
import { byAge } from '../../src/actions/page/overview.ts';
import type { Trace } from '../../src/actions/page/recent.ts';
import type { WebRun } from '../../src/api/api.ts';

const CHANNEL = '00000000-0000-4000-8000-000000000000';
const at = (minute: number): string => new Date(Date.UTC(2026, 5, 9, 12, minute)).toISOString();
const path = (minute: number): string =>
  `2026/06/09/${at(minute).slice(11, 23).replace(/[:.]/g, '')}Z-00000000.md`;

function trace(minute: number, from: string, to: string, more: Partial<Trace> = {}): Trace {
  const [name = '', host] = to.split('@');
  return {
    channel: CHANNEL,
    relPath: path(minute),
    from,
    to: [host === undefined ? { name } : { name, host }],
    type: 'text',
    timestamp: at(minute),
    re: [],
    cause: [],
    tier: null,
    host: null,
    excerpt: '',
    ...more,
  };
}

it('a message is an errand for each served addressee that it wakes, and answered by what names it', () => {
  const served = new Set(['boss', 'worker']);
  const traces = [
    trace(0, 'anna', 'boss'),
    trace(1, 'boss', 'worker', { cause: [path(0)], host: 'one' }),
    trace(2, 'worker', 'boss', { re: [path(1)], host: 'two' }),
    trace(3, 'boss', 'anna', { re: [path(0)], cause: [path(2)], host: 'one' }),
    trace(4, 'anna', 'nobody'),
    trace(5, 'anna', 'worker', { type: 'note' }),
    trace(6, 'anna', 'worker@two'),
    // An answer to another asker's question wakes nobody.
    trace(7, 'worker', 'boss', { re: [path(6)] }),
  ];
  const shown = errandsOf(traces, served).map(({ message, actor, answer }) => [
    message.relPath,
    actor,
    answer?.relPath,
  ]);
  expect(shown).toEqual([
    [path(0), 'boss', path(1)],
    [path(1), 'worker', path(2)],
    [path(2), 'boss', path(3)],
    [path(6), 'worker', path(7)],
  ]);
});

it('what an actor names as the cause of a word on the way keeps it waiting only if it was a question', () => {
  const served = new Set(['boss', 'worker']);
  const interim = { mark: 'interim' as const, host: 'one' };
  const traces = [
    trace(0, 'anna', 'boss'),
    trace(1, 'boss', 'worker', { cause: [path(0)], host: 'one' }),
    trace(2, 'worker', 'boss', { re: [path(1)], host: 'two' }),
    trace(3, 'boss', 'anna', { ...interim, re: [path(0)], cause: [path(2)] }),
    trace(4, 'anna', 'boss'),
    trace(5, 'boss', 'anna', { ...interim, re: [path(0)], cause: [path(4)] }),
  ];
  const shown = errandsOf(traces, served).map(({ message, outcome }) => [message.relPath, outcome]);
  expect(shown).toEqual([
    [path(0), 'REPLIED'],
    [path(1), 'REPLIED'],
    [path(2), 'REPLIED'],
    [path(4), 'PENDING'],
  ]);
});

it('a plan that waits for its approver is known by the messages alone, until it is decided or taken back', () => {
  const served = new Set(['builder']);
  const plan = { mark: 'interim' as const, host: 'tower', re: [path(0)], proposal: true as const };
  const traces = [
    trace(0, 'carl', 'builder'),
    trace(1, 'builder', 'anna', { ...plan, plan: true }),
    // Somebody else decides nothing.
    trace(2, 'mallory', 'builder@tower', { re: [path(1)], decides: true }),
  ];
  const gateOf = (more: Trace[] = []): unknown => errandsOf([...traces, ...more], served)[0]?.gate;
  expect(gateOf()).toEqual({ approver: 'anna', proposal: path(1), approved: false });
  const decision = trace(3, 'anna', 'builder@tower', { re: [path(1)], decides: true });
  expect(gateOf([decision])).toBeUndefined();
  const taken = trace(3, 'builder', 'anna', { re: [path(1)], mark: 'cancel', host: 'tower' });
  expect(gateOf([taken])).toBeUndefined();
});

it('the picture has lanes, runs that were seen or that answers tell of, answer times and backlog by hour', () => {
  const seen: WebRun = {
    id: 'run',
    actor: 'boss',
    host: 'one',
    channel: CHANNEL,
    channel_name: 'general',
    tier: 'large',
    since: at(1),
    until: at(3),
    outcome: 'answered',
    messages: [path(0)],
    answers: [path(3)],
    known_from: 'observed',
  };
  const picture = draw({
    from: new Date(at(0)),
    to: new Date(at(130)),
    now: new Date(at(125)),
    traces: [
      trace(0, 'anna', 'boss'),
      trace(3, 'boss', 'anna', { re: [path(0)], host: 'one' }),
      trace(10, 'anna', 'worker'),
      trace(70, 'worker', 'anna', { re: [path(10)], host: 'two' }),
      trace(120, 'anna', 'worker'),
    ],
    serving: [
      { alias: 'one', actors: ['boss'] },
      { alias: 'two', actors: ['worker'] },
    ],
    observed: [seen],
    letters: [],
    nameOf: () => 'general',
  });
  expect(picture.lanes).toEqual([
    { name: 'boss', hosts: ['one'] },
    { name: 'worker', hosts: ['two'] },
    { name: 'anna', hosts: [] },
  ]);
  expect(picture.runs).toMatchObject([
    { id: 'run', known_from: 'observed' },
    { actor: 'worker', since: at(10), until: at(70), outcome: 'answered', known_from: 'record' },
  ]);
  expect(picture.answer_times).toEqual([
    { hour: at(0), answers: 1, median_s: 180, p90_s: 180 },
    { hour: at(60), answers: 1, median_s: 3600, p90_s: 3600 },
    { hour: at(120), answers: 0, median_s: 0, p90_s: 0 },
  ]);
  expect(picture.backlog.map(({ waiting }) => waiting)).toEqual([1, 0, 1]);
});

it('waiting mail is counted once, by its age', () => {
  const counts = byAge([0, 59, 60, 3599, 3600, 86_400, 1e9]).map(({ messages }) => messages);
  expect(counts).toEqual([2, 1, 1, 1, 2]);
});
