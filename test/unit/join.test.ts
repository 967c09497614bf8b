import { expect, it } from 'vitest';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { ASKED_BACK_WAIT, arrivalOf, joinOf, type Join } from '../../src/protocol/join.ts';
import type { Located } from '../../src/protocol/message.ts';
import { lookupIn, path, said } from '../support/messages.ts';

const TIMEOUT = 1000;
/** The time of every message that `said` makes. */
const SAID = Date.parse('2026-06-09T19:00:00.000Z');

const goal = said(1, 'alice', 'boss');
const tasks = [2, 3, 4].map((n) => said(n, 'boss', `w${String(n)}`, { cause: [1] }));
const answer = (n: number, of: number): Located => said(n, `w${String(of)}`, 'boss', { re: [of] });
const marked = (one: Located, mark: Partial<Located['message']>): Located => ({
  ...one,
  message: { ...one.message, ...mark },
});

/** What the answers in `batch` wait for, where the record has `others` as well. */
const joined = (batch: Located[], others: Located[] = [], seen = SAID): Join | undefined => {
  const channel = [...tasks, ...others, ...batch];
  const record = { channel, lookup: lookupIn([goal, ...channel]) };
  const facts = { actor: 'boss', questions: [path(1)], batch, ...record };
  return joinOf(facts, () => seen, TIMEOUT);
};
const names = (join: Join | undefined): string[] => (join?.waitsFor ?? []).map(({ of }) => of.name);

it('a partial answer waits for the others, which are named, and no longer than the timeout', () => {
  const join = joined([answer(5, 2)]);
  expect(names(join)).toEqual(['w3', 'w4']);
  expect(join?.waitsFor.map(({ task }) => task)).toEqual([path(3), path(4)]);
  expect(join?.until).toBe(SAID + TIMEOUT);
});

it('once all have answered nothing waits, also where some of the answers were handed over before', () => {
  expect(joined([answer(5, 2), answer(6, 3), answer(7, 4)])).toBeUndefined();
  expect(joined([answer(7, 4)], [answer(5, 2), answer(6, 3)])).toBeUndefined();
});

it('the notice of a failure counts as an answer, whoever is told', () => {
  const failed = { reason: 'exit_code', attempts: 3, host: 'h', dead_letter: 'x' };
  const told = marked(said(6, 'w3', 'alice', { re: [3] }), { failed });
  expect(names(joined([answer(5, 2)], [told]))).toEqual(['w4']);
});

it('a task that was taken back holds nothing up', () => {
  const back = marked(said(6, 'boss', 'w3', { re: [3] }), { cancels: path(3) });
  expect(names(joined([answer(5, 2)], [back]))).toEqual(['w4']);
});

it('a task for another question holds nothing up', () => {
  const other = [said(8, 'bob', 'boss'), said(9, 'boss', 'w9', { cause: [8] })];
  expect(names(joined([answer(5, 2)], other))).toEqual(['w3', 'w4']);
});

it('a word on the way is no answer, and does not wait for its writer alone as long as for others', () => {
  const word = marked(answer(5, 2), { interim: true });
  expect(names(joined([word]))).toEqual(['w2', 'w3', 'w4']);
  expect(joined([word])?.until).toBe(SAID + TIMEOUT);
  const alone = joined([word, answer(6, 3), answer(7, 4)]);
  expect(names(alone)).toEqual(['w2']);
  expect(alone?.until).toBe(SAID + Math.min(TIMEOUT, ASKED_BACK_WAIT));
  const late = joinOf(
    {
      actor: 'boss',
      questions: [path(1)],
      batch: [answer(6, 3), answer(7, 4), word],
      channel: [...tasks, answer(6, 3), answer(7, 4), word],
      lookup: lookupIn([goal, ...tasks]),
    },
    () => SAID,
    10 * ASKED_BACK_WAIT,
  );
  expect(late?.until).toBe(SAID + ASKED_BACK_WAIT);
});

it('nothing waits where nobody asked anything', () => {
  const begun = said(2, 'boss', 'w1,w2');
  const batch = [said(3, 'w1', 'boss', { re: [2] })];
  const channel = [begun, ...batch];
  const facts = { actor: 'boss', questions: [], batch, channel, lookup: lookupIn(channel) };
  expect(joinOf(facts, () => SAID, TIMEOUT)).toBeUndefined();
});

it('an answer arrived after its task was written and before it was seen, whatever its clock says', () => {
  const at = (timestamp: string, seen: number): number => {
    const task = marked(said(2, 'boss', 'w2'), { timestamp: '2026-06-09T19:00:00Z' });
    const one = marked(answer(5, 2), { timestamp });
    return arrivalOf(one, 'boss', lookupIn([task]), seen);
  };
  const minute = 60_000;
  const seen = SAID + 10 * minute;
  expect(at('2026-06-09T19:02:00Z', seen)).toBe(SAID + 2 * minute);
  expect(at('2020-01-01T00:00:00Z', seen)).toBe(SAID);
  expect(at('2099-01-01T00:00:00Z', seen)).toBe(seen);
});

it('a profile says whether its actor is woken for each answer or once for all', () => {
  const profile = (...lines: string[]): unknown =>
    parseProfile(['---', 'name: a', ...lines, '---', ''].join('\n'), 'a');
  expect(profile('wake: all', 'join_timeout: 1h30m', 'peers: none')).toMatchObject({
    ok: true,
    value: { wake: 'all', joinTimeout: 5_400_000, peers: 'none' },
  });
  expect(profile('wake: each', 'peers: all')).toEqual(profile());
  expect(profile('wake: some', 'join_timeout: 0', 'peers: few')).toEqual({
    ok: false,
    problems: [
      'wake is "some", expected each or all',
      'peers is "few", expected all or none',
      'join_timeout is "0", expected a duration such as 90s, 30m or 2h, at most 24 days',
    ],
  });
});
