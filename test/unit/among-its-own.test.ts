import { expect, it } from 'vitest';
import { descentOf, isAmongItsOwn } from '../../src/protocol/accepted.ts';
import type { Message } from '../../src/protocol/message.ts';

/** A thread: each message by its name, with its writer, its addressee and what it links to. */
const THREAD: Record<string, [from: string, to: string, ...links: string[]]> = {
  question: ['anna', 'worker'],
  answer: ['worker', 'anna', 'question'],
  task: ['worker', 'boss', 'question'],
  more: ['anna', 'worker', 'task'],
  done: ['boss', 'worker', 'task'],
  forged: ['mallory', 'worker', 'question'],
  twice: ['mallory', 'worker', 'forged'],
  mixed: ['mallory', 'worker', 'own', 'answer'],
  own: ['mallory', 'worker'],
  lost: ['anna', 'worker', 'nothing'],
  loop: ['anna', 'worker', 'loop'],
  announced: ['anna', 'all'],
  heard: ['worker', 'anna', 'announced'],
  further: ['anna', 'worker', 'heard'],
  uninvited: ['mallory', 'worker', 'announced'],
  answered: ['boss', 'mallory', 'announced'],
  onward: ['mallory', 'worker', 'answered'],
  itself: ['mallory', 'worker', 'question', 'itself'],
  one: ['mallory', 'worker', 'question', 'other'],
  other: ['mallory', 'worker', 'one'],
  built: ['mallory', 'worker', 'one'],
};

function message(name: string): Message | undefined {
  const [from = '', to = '', ...cause] = THREAD[name] ?? [];
  if (from === '') return undefined;
  const timestamp = '2026-01-01T00:00:00.000Z';
  return {
    ...{ from, to: [{ name: to }], type: 'text', timestamp },
    ...{ re: [], cause, extra: {}, body: name },
  };
}

it('whoever took part in a thread may go on with it, by any of its messages, and nobody else', () => {
  const isOne = (name: string): boolean =>
    isAmongItsOwn({ relPath: name, message: message(name)! }, 'worker', message);
  for (const name of ['question', 'answer', 'task', 'more', 'done', 'own', 'further'])
    expect([name, isOne(name)]).toEqual([name, true]);
  for (const name of [
    ...['forged', 'twice', 'lost', 'uninvited', 'onward'],
    ...['loop', 'itself', 'one', 'built'],
  ])
    expect([name, isOne(name)]).toEqual([name, false]);
  // It has two beginnings, so that it goes on with the session of none.
  expect(isOne('mixed')).toBe(true);
});

it('what names itself, by whatever way around, descends from nobody’s task', () => {
  const descent = (name: string): boolean =>
    descentOf({ relPath: name, message: message(name)! }, message, (one) => one === 'worker').ok;
  expect(['answer', 'done', 'forged'].map(descent)).toEqual([true, true, false]);
  expect(['itself', 'one', 'built', 'loop'].map(descent)).toEqual([false, false, false, false]);
});
