import { expect, it } from 'vitest';
import { factsOfArrivals } from '../../src/web/hub.ts';
import { path, said } from '../support/messages.ts';

const NOW = new Date('2026-06-09T12:00:00Z');
const arrived = (more: object) => {
  const { relPath, message } = said(2, 'worker', 'anna');
  return [{ channel: 'c', relPath, message: { ...message, re: [path(1)], ...more } }];
};
const states = (more: object) =>
  factsOfArrivals(arrived(more), new Set(), NOW).map(({ state, relPath }) => [state, relPath]);

it('an answer and the notice of a failure end a question on the page, and a word on the way does not', () => {
  expect(states({})).toEqual([['answered', path(1)]]);
  expect(states({ failed: { reason: 'exit_code' } })).toEqual([['failed', path(1)]]);
  expect(states({ interim: true })).toEqual([]);
});

it('a cancellation is no answer on the page, and the notice of one no failure', () => {
  expect(states({ cancels: path(1) })).toEqual([]);
  expect(states({ failed: { reason: 'cancelled' } })).toEqual([['cancelled', path(1)]]);
});
