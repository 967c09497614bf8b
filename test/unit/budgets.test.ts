import { expect, it } from 'vitest';
import { Budgets } from '../../src/dispatcher/run/budgets.ts';

it('mail that a budget holds is looked at again when the budget or the command of its tier changes', () => {
  const ofMachine: string[] = [];
  const budgets = new Budgets({} as never, () => ofMachine[0]);
  const tier = { name: 'default', cli: 'claude -p', maxUsdPerDay: 1 };
  const before = budgets.inForce(tier as never);
  const others = [
    { ...tier, cli: 'claude -p --model opus' },
    { ...tier, maxUsdPerDay: 2 },
    { ...tier, maxTokensPerDay: 1 },
    { ...tier, maxUsdPerThread: 1 },
  ].map((one) => budgets.inForce(one as never));
  expect(new Set([before, ...others]).size).toBe(5);
  expect(budgets.inForce({ ...tier } as never)).toBe(before);
  ofMachine.push('20');
  expect(budgets.inForce(tier as never)).not.toBe(before);
});
