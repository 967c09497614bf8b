import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Retries } from '../../src/dispatcher/retries.ts';
import type { Context } from '../../src/actions/context.ts';
import { retryDeadLetters } from '../../src/actions/upkeep/dlq.ts';
import { DeadLetters, retryDelay, type DeadLetter } from '../../src/state/dead-letters.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { RunBudget } from '../../src/state/run-budget.ts';
import { scratch } from '../support/bus.ts';

const letter = (next: string, state: DeadLetter['state'] = 'retrying'): DeadLetter => ({
  id: '01J0000000000000000000000A',
  state,
  actor: 'a',
  channel: 'c',
  messages: ['m'],
  tier: 't',
  command: 'x',
  reason: 'exit_code',
  detail: '',
  exit_code: 1,
  signal: null,
  stderr_tail: '',
  attempts: 1,
  attempts_since_release: 1,
  first_failed_at: '',
  last_failed_at: '',
  next_retry_at: next,
});

async function due(one: DeadLetter, now: string): Promise<boolean> {
  const root = scratch();
  const deadLetters = new DeadLetters(root);
  await deadLetters.put(one);
  const retries = new Retries({
    deadLetters,
    outbox: new Outbox(root),
    now: () => new Date(now),
  });
  return (await retries.due()).length === 1;
}

it('a retry is due at its time, not before', async () => {
  expect(await due(letter('2026-06-09T12:00:00.000Z'), '2026-06-09T11:59:59.000Z')).toBe(false);
  expect(await due(letter('2026-06-09T12:00:00.000Z'), '2026-06-09T12:00:00.000Z')).toBe(true);
  expect(
    await due(letter('2026-06-09T12:00:00.000Z', 'quarantined'), '2026-06-09T13:00:00.000Z'),
  ).toBe(false);
  expect(await due(letter('2026-06-09T12:00:00.000Z', 'parked'), '2026-06-09T13:00:00.000Z')).toBe(
    false,
  );
});

it('a retry that seems further away than any delay is due: the clock was set back', async () => {
  expect(await due(letter('2026-06-09T12:00:00.000Z'), '2020-01-01T00:00:00.000Z')).toBe(true);
});

it('a letter without a time hides none that has one, and is due', async () => {
  const root = scratch();
  const deadLetters = new DeadLetters(root);
  const outbox = new Outbox(root);
  const untimed = { ...letter(''), id: '01J0000000000000000000000B' };
  delete untimed.next_retry_at;
  await deadLetters.put(untimed);
  await deadLetters.put(letter('2026-06-09T12:00:00.000Z'));
  const now = () => new Date('2026-06-09T11:50:00.000Z');
  const retries = new Retries({ deadLetters, outbox, now });
  expect(await retries.next()).toEqual(new Date('2026-06-09T12:00:00.000Z'));
  expect((await retries.due()).map(({ id }) => id)).toEqual(['01J0000000000000000000000B']);
});

it('waits grow fourfold up to a quarter of an hour, give or take a quarter', () => {
  expect([1, 2, 3, 9].map((attempts) => retryDelay(attempts, 2000, 0.5))).toEqual([
    2000, 8000, 32_000, 900_000,
  ]);
  expect([retryDelay(1, 2000, 0), retryDelay(1, 2000, 1)]).toEqual([1500, 2500]);
});

it('runs of an hour are counted on disk, and starts that lie in the future do not count', async () => {
  const root = scratch();
  const budget = new RunBudget(root);
  const hour = 3_600_000;
  for (const at of [10 * hour, 10 * hour + 5]) await budget.note('a', 't', at);
  const again = new RunBudget(root);
  expect(await again.nextStart('a', 't', 2, 10 * hour + 10)).toEqual(new Date(11 * hour));
  expect(await again.nextStart('a', 't', 3, 10 * hour + 10)).toBeUndefined();
  expect(await again.nextStart('a', 'other', 1, 10 * hour + 10)).toBeUndefined();
  expect(await again.nextStart('a', 't', 2, 11 * hour + 1)).toBeUndefined();
  expect(await again.nextStart('a', 't', 2, hour)).toBeUndefined();
});

it('a delivery that is answered while many are released does not come back', async () => {
  const first = letter('', 'quarantined');
  const second = { ...letter('', 'quarantined'), id: '01J0000000000000000000000B' };
  const root = scratch();
  const deadLetters = new DeadLetters(root);
  for (const one of [first, second]) await deadLetters.put(one);
  const all = deadLetters.all.bind(deadLetters);
  deadLetters.all = async () => {
    const listed = await all();
    // What a dispatcher does that is running meanwhile.
    await deadLetters.remove(second.id);
    return listed;
  };
  const context = { deadLetters, now: () => new Date(), paths: { socket: join(root, 'none') } };

  const { released } = await retryDeadLetters(context as unknown as Context, 'all');

  expect(released.map(({ id }) => id)).toEqual([first.id]);
  expect((await deadLetters.all()).map(({ id }) => id)).toEqual([first.id]);
});
