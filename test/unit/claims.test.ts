import { expect, it } from 'vitest';
import { claimLeaseOf } from '../../src/bus/claims.ts';
import { PutOff } from '../../src/dispatcher/pools/put-off.ts';
import { PushTimes } from '../../src/dispatcher/pools/push-times.ts';

it('a lease is what git config says, between two minutes and a day, and fifteen minutes otherwise', () => {
  const minutes = (claimLease: string | undefined, env = {}): unknown => {
    const { ms, problem } = claimLeaseOf(claimLease === undefined ? {} : { claimLease }, env);
    return problem ?? ms / 60_000;
  };
  expect([undefined, '2m', ' 1h ', '1d'].map((text) => minutes(text))).toEqual([15, 2, 60, 1440]);
  expect(minutes('5s', { CROSSTALK_TEST_LEASE: '1' })).toBe(5 / 60);
  for (const [text, env] of [
    ['soon', {}],
    ['119s', {}],
    ['25h', {}],
    ['', {}],
    ['5s', { CROSSTALK_TEST_LEASE: 'yes' }],
  ] as const)
    expect(minutes(text, env)).toBe(
      `git config crosstalk.claimLease is "${text}", expected a duration from 2m to 1d, such as 15m; 15m is in force`,
    );
});

it('a lease outlasts ten slow pushes, whatever is set, and a day at most', () => {
  const seconds = (pushes: number[], claimLease?: string, env = {}): number => {
    const times = new PushTimes();
    for (const ms of pushes) times.note(ms);
    return claimLeaseOf(claimLease === undefined ? {} : { claimLease }, env, times.p95).ms / 1000;
  };
  const fast = Array.from({ length: 19 }, () => 300);
  expect(seconds([])).toBe(900);
  expect(seconds([...fast, 600_000])).toBe(900);
  expect(seconds([...fast, 100_000, 120_000])).toBe(1000);
  expect(seconds([20_000], '2m')).toBe(200);
  expect(seconds([1e9], '2m')).toBe(86_400);
  expect(seconds([20_000], '5s', { CROSSTALK_TEST_LEASE: '1' })).toBe(5);
  expect(
    seconds([...Array.from({ length: 100 }, () => 1e6), ...Array.from({ length: 100 }, () => 1)]),
  ).toBe(900);
});

it('a released message waits as long as its release says, whatever the clocks of both hosts show', () => {
  const hour = 3_600_000;
  let now = 0;
  const waits = (notBefore: number, at: number): number | undefined => {
    const putOff = new PutOff(() => new Date(now));
    const time = (ms: number): string => new Date(ms).toISOString();
    const end = { end: 'released', run: 'a.1', at: time(at), notBefore: time(notBefore) } as const;
    if (!putOff.byRelease('key', { end, endOid: 'one' })) return undefined;
    const [until = 0] = putOff.times();
    for (const [ms, isWaiting] of [
      [until - 1, true],
      [until, false],
    ] as const) {
      now = ms;
      expect(putOff.has('key')).toBe(isWaiting);
    }
    // The same release puts it off once.
    expect(putOff.byRelease('key', { end, endOid: 'one' })).toBe(false);
    now = 0;
    return until;
  };
  expect(waits(60_000, 0)).toBe(60_000);
  // Its clock is a day ahead, or behind.
  expect(waits(24 * hour + 60_000, 24 * hour)).toBe(60_000);
  expect(waits(60_000 - 24 * hour, -24 * hour)).toBeUndefined();
  expect(waits(30 * hour, 0)).toBe(hour);
});
