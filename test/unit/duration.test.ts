import { expect, it } from 'vitest';
import { parseDuration, parseSince } from '../../src/protocol/text/times.ts';

it.each([
  ['0', 0],
  ['90', 90_000],
  ['0.5', 500],
  ['10s', 10_000],
  ['500ms', 500],
  ['1.5h', 5_400_000],
  ['5m', 300_000],
  ['2h', 7_200_000],
  ['3d', 259_200_000],
  ['1w', 604_800_000],
  ['1h30m', 5_400_000],
  ['1m30s', 90_000],
])('%s is a length of time', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(['', 'soon', '-1', '1x', '10 s', '1h30', '30m1h', '1h1h', 'h', '1e3', '0x10', 'Infinity'])(
  '%j is none',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

it('the same notation says how long ago, always with a unit', () => {
  const now = new Date('2026-06-09T12:00:00Z');
  expect(parseSince('1h30m', now)?.toISOString()).toBe('2026-06-09T10:30:00.000Z');
  expect(parseSince('90s', now)?.toISOString()).toBe('2026-06-09T11:58:30.000Z');
  expect(parseSince('90', now)).toBeUndefined();
});

it('a day begins at midnight of this machine', () => {
  const before = process.env['TZ'];
  process.env['TZ'] = 'America/New_York';
  try {
    const since = parseSince('2026-06-09', new Date('2026-06-20T00:00:00Z'));
    expect(since).toEqual(new Date('2026-06-09T04:00:00.000Z'));
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
});
