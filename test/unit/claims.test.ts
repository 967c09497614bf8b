import { expect, it } from 'vitest';
import { claimLeaseOf } from '../../src/bus/claims.ts';

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
