import { expect, it } from 'vitest';
import { Sums } from '../../src/state/bills/ledger-sums.ts';

it('a run whose cost is presumed, or not stated, is counted as one whose cost is not known', () => {
  const usage = { input: 10, cached: 0, output: 5 };
  const run = { at: '2026-06-09T12:00:00Z', ended: 'answered', ms: 1 };
  const sums = new Sums('skill');
  for (const more of [{ usage }, { usage, presumed: true }, {}])
    sums.add({ ...run, ...more } as never);
  const [day] = sums.all.flatMap(({ days }) => days);
  expect(day).toMatchObject({ runs: 3, unstated: 2, failed: 0, input: 20, output: 10 });
});
