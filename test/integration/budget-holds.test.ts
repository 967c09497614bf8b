import { statePaths } from '../../src/state/state-paths.ts';
// @module-tag long
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BudgetMail } from '../../src/dispatcher/run/budget-mail.ts';
import { Budgets } from '../../src/dispatcher/run/budgets.ts';
import { Spending } from '../../src/dispatcher/run/spending.ts';
import { parseHostFile, type Tier } from '../../src/protocol/files/host-file.ts';
import { BudgetHolds } from '../../src/state/bills/budget-holds.ts';
import { Ledger } from '../../src/state/bills/ledger.ts';
import { DeadLetters } from '../../src/state/dead-letters.ts';
import { scratch } from '../support/bus.ts';

const now = (): Date => new Date();

function tier(): Tier {
  const file = parseHostFile('---\nalias: front\nactors: {worker: {default: claude -p}}\n---\n');
  const [found] = (file.ok ? file.value.actors.get('worker') : undefined) ?? [];
  if (found === undefined) throw new Error('no tier');
  return found;
}

/** Which write ends last is up to the system. */
const ROUNDS = 15;

it('of mail that comes to wait at the same time, all is kept, and who was told', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const folder = scratch();
    const holds = new BudgetHolds(folder);
    const budgets = new Budgets(
      new Spending(new Ledger(join(folder, 'ledger')), now),
      () => undefined,
    );
    const app = { paths: statePaths(folder), deadLetters: new DeadLetters(folder), now };
    const mail = new BudgetMail(app, budgets);
    const spent = { reason: 'budget', said: 'spent', until: '2099-01-01T00:00:00.000Z' } as const;
    const names = Array.from({ length: 40 }, (_, n) => `m${String(n)}`);
    await Promise.all(
      names.map((name) => {
        const run = { actor: 'worker', channel: 'c', messages: [name], tier: tier() };
        return mail.hold(run, spent, { told: [name], letter: undefined });
      }),
    );
    const { held, told } = await holds.load();
    expect(held.map(({ message }) => message)).toEqual(names);
    expect(Object.keys(told)).toEqual(names);
  }
});
