import { afterEach, expect, it } from 'vitest';
import { onCrashPoint } from '../../src/crash-points.ts';
import { DeadLetters, type DeadLetter } from '../../src/state/dead-letters.ts';
import { scratch } from '../support/bus.ts';

afterEach(() => {
  onCrashPoint(() => undefined);
});

const letter: DeadLetter = {
  id: '01J0000000000000000000000A',
  state: 'retrying',
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
};
const given: DeadLetter = { ...letter, state: 'quarantined' };

it('a notice is due once its letter is written, not while an older letter is still there', async () => {
  const letters = new DeadLetters(scratch());
  await letters.put(letter);
  expect(await letters.dueNotices()).toEqual([]);
  await letters.putToTell(given);
  expect(await letters.dueNotices()).toEqual([letter.id]);
  expect(await letters.get(letter.id)).toEqual(given);
  await letters.told(letter.id);
  expect(await letters.dueNotices()).toEqual([]);
  expect(await letters.get(letter.id)).toEqual(given);
});

it.each(['row_written', 'row_committed'] as const)(
  'a letter of which somebody is to be told and its notice are both written or neither, when the process was killed at %s',
  async (last) => {
    const root = scratch();
    const letters = new DeadLetters(root);
    await letters.put(letter);
    onCrashPoint((point) => {
      if (point === last) throw new Error('killed');
    });
    await expect(letters.putToTell(given)).rejects.toThrow('killed');
    const next = new DeadLetters(root);
    const isWritten = last === 'row_committed';
    expect(await next.get(letter.id)).toEqual(isWritten ? given : letter);
    expect(await next.dueNotices()).toEqual(isWritten ? [letter.id] : []);
  },
);
