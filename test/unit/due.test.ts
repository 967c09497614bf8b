import { expect, it } from 'vitest';
import { firstDue } from '../../src/dispatcher/due.ts';

const NOW = new Date('2026-06-09T12:00:00Z');

function at(time: string | undefined): { next: () => Promise<Date | undefined> } {
  return { next: () => Promise.resolve(time === undefined ? undefined : new Date(time)) };
}

it('the first of what the sources are waiting for is next', async () => {
  const sources = [at('2026-06-09T14:00:00Z'), at(undefined), at('2026-06-09T13:00:00Z')];
  expect(await firstDue(sources, NOW)).toEqual(new Date('2026-06-09T13:00:00Z'));
});

it('what is due already, and waits for room, is not waited for by the clock', async () => {
  expect(await firstDue([at('2026-06-09T12:00:00Z')], NOW)).toBeUndefined();
  const sources = [at('2026-06-09T11:00:00Z'), at('2026-06-09T15:00:00Z')];
  expect(await firstDue(sources, NOW)).toEqual(new Date('2026-06-09T15:00:00Z'));
  expect(await firstDue([], NOW)).toBeUndefined();
});
