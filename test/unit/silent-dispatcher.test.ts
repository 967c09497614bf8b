import { expect, it } from 'vitest';
import { judge } from '../../src/actions/health/health.ts';
import type { Room } from '../../src/state/place/below.ts';

type Facts = Parameters<typeof judge>[0];

/** What is stuck while a dispatcher has not reported for some seconds. */
function problems(
  age: number,
  room: Room,
  since?: string,
  host: unknown = null,
  how: 'answers' | 'hangs' = 'hangs',
): string[] {
  const facts = {
    version_problem: null,
    state_dir: '/state',
    dispatcher: {
      ...{ pid: 7, interval: 1, age_s: age, parked: [] },
      ...(since !== undefined && { record_failing_since: since, record_error: 'ENOSPC' }),
    },
    ...{ host, host_problem: null, unserved: [], paused: null, holds: [], outbox: [] },
    ...{ set_aside: [], held_secrets: [], dead_letters: [], push_budget: null, held: [] },
    ...{
      profile_problems: [],
      parked: [],
      broken_state_files: [],
      stale_locks: [],
      malformed: [],
      transport: '/transport',
    },
  } as unknown as Facts;
  const known = { now: new Date(), locked: true, answers: how === 'answers', room };
  const { health } = judge(facts, { ...known, served: undefined });
  expect(health.ok).toBe(health.problems.length === 0);
  return health.problems;
}

/** A host without anything odd. */
const SERVED = { alias: 'a', path: 'hosts/a.md', others: [] };

it('a dispatcher that is silent on a full disk is not to be restarted, and one that is silent otherwise is', () => {
  expect(problems(40, 'enough')).toEqual([
    'the dispatcher (process 7) has not reported for 40 s; restart it',
  ]);
  expect(problems(40, 'none')).toEqual([
    'the disk with /state is full, and the dispatcher (process 7) has not reported for 40 s: it may hold answers that it cannot record; make room, and do not stop it before',
  ]);
});

it('a dispatcher that answers is not to be restarted before its state takes reports, or with an answer in memory', () => {
  expect(problems(40, 'enough', undefined, null, 'answers')).toEqual([
    'the dispatcher (process 7) has not reported for 40 s, and answers: let /state take writes; if it does, restart it',
  ]);
  expect(problems(40, 'enough', '2026-06-09T19:00:00Z', null, 'answers')).toEqual([
    'do not restart: an answer is in memory, which cannot be put on record since 2026-06-09T19:00:00Z: ENOSPC; remove the reason (where the disk is full, make room), and it is tried again automatically',
  ]);
});

it('a full disk is told at once, and one without room for a run before any is tried', () => {
  expect(problems(5, 'none')).toEqual([
    'the disk with /state is full: nothing can be sent, fetched or recorded; make room, and do not stop the dispatcher before',
  ]);
  expect(problems(5, 'no_inodes')).toEqual([
    'the disk with /state has no inode left for another file: nothing can be sent, fetched or recorded; make room, and do not stop the dispatcher before',
  ]);
  expect(problems(5, 'little')).toEqual([]);
  expect(problems(5, 'little', undefined, SERVED)).toEqual([
    'less than 8 MiB is free on the disk with /state: no run can begin; make room',
  ]);
  expect(problems(5, 'enough', undefined, SERVED)).toEqual([]);
});

it('what the dispatcher itself said of the disk comes after that', () => {
  expect(problems(40, 'none', '2026-06-09T19:00:00Z')).toEqual([
    expect.stringMatching(/^the disk with \/state is full/),
    expect.stringMatching(
      /^do not restart: an answer is in memory, which cannot be put on record since 2026/,
    ),
  ]);
});
