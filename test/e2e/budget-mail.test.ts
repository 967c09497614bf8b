import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { billed, billedRuns, DAY_MS, pass, runAt } from '../support/passes.ts';
import { cellIn, forget, plantRow, putRow } from '../support/rows.ts';

const HOUR_MS = 3_600_000;

/** A machine whose budget is spent, and one message that waits for it. */
async function spent(options: Record<string, string | number>, what?: string): Promise<Host> {
  const tier = { cli: billed(what), ...options };
  const host = await new Bus().host('front', { worker: { default: tier } });
  for (const text of ['one', 'two']) {
    await host.send('worker', text);
    await pass(host);
  }
  expect(billedRuns(host)).toHaveLength(1);
  expect(held(host)).toHaveLength(1);
  return host;
}

function held(host: Host): Record<string, unknown>[] {
  return (cellIn(host.state, 'budget-holds') as { held: Record<string, unknown>[] }).held;
}

const BUDGET = { max_usd_per_day: '0.25' };

it(
  'an operator lets mail pass also after the clock was set back, and then nothing that comes later',
  { tags: 'long' },
  async () => {
    const host = await spent(BUDGET);
    const let1 = await runAt(host, -HOUR_MS, 'resume', '--for', 'worker');
    expect(let1.out).toContain('for worker: 1 message ');
    await pass(host, -HOUR_MS);
    expect(billedRuns(host)).toHaveLength(2);
    for (const text of ['three', 'four']) {
      await host.send('worker', text);
      for (let n = 0; n < 2; n++) await pass(host, -HOUR_MS);
    }
    expect(billedRuns(host)).toHaveLength(2);
    expect(held(host)).toHaveLength(2);

    const let2 = await runAt(host, -2 * HOUR_MS, 'resume', '--for', 'worker');
    expect(let2.out).toContain('for worker: 2 messages');
    await pass(host, -2 * HOUR_MS);
    expect(held(host)).toEqual([]);
  },
);

it('mail that waits for a budget is said by status also while no dispatcher runs', async () => {
  const host = await spent(BUDGET);
  const { out } = await host.run('status');
  expect(out).toMatch(
    /mail for worker waits until .*: max_usd_per_day of .*; let it run now with: /,
  );
});

it('what an operator has let pass runs after a restart too, if it had to wait for something else', async () => {
  const host = await spent(BUDGET);
  // As if the hourly limit were reached.
  const starts = Array.from({ length: 600 }, () => Date.now());
  putRow(host.state, 'run-start', { id: 'worker default', starts });
  await host.run('resume', '--for', 'worker');
  await pass(host);
  expect(billedRuns(host)).toHaveLength(1);
  expect(held(host)).toEqual([]);
  forget(host.state, 'run-start');
  await pass(host);
  expect(billedRuns(host)).toHaveLength(2);
});

it(
  'a failed delivery that is dropped or taken back no longer waits for a budget',
  { tags: 'long' },
  async () => {
    for (const way of ['drop', 'cancel']) {
      const tier = { cli: billed('fail'), max_usd_per_thread: '0.25', retry_delay: '10ms' };
      const host = await new Bus().host('front', { worker: { default: tier } });
      const question = await host.send('worker', 'one');
      await pass(host);
      await pass(host, 60_000);
      expect(held(host)).toHaveLength(1);
      await host.run(...(way === 'drop' ? ['dlq', '--clear', '--yes'] : ['cancel', question]));
      await pass(host);
      expect(held(host), way).toEqual([]);
      expect((await host.run('status')).out).not.toContain('max_usd_per_thread of');
    }
  },
);

it(
  'what waits is looked at again where its record is damaged, or an earlier version has written it',
  { tags: 'long' },
  async () => {
    const host = await spent(BUDGET);
    const [hold] = held(host);
    const earlier = { ...hold };
    delete earlier['budgets'];
    const record = (...all: unknown[]) => ({
      id: '',
      is: { held: all, told: { worker: 'zzz' }, passed: {} },
    });
    const plant = (text: string): void => {
      plantRow(host.state, 'budget-holds', '', text);
    };
    for (const write of [
      () => {
        plant(JSON.stringify(record({ ...hold, until: 'zzz' }, { ...hold, since: 'zzz' }, null)));
      },
      () => {
        putRow(host.state, 'budget-holds', record(earlier));
      },
      () => {
        plant('[{');
      },
    ]) {
      write();
      const log = await pass(host);
      expect(log.filter(({ event }) => event === 'parked')).toHaveLength(1);
      expect(held(host)).toMatchObject([{ message: hold?.['message'], until: hold?.['until'] }]);
    }
    await pass(host, DAY_MS);
    expect(billedRuns(host)).toHaveLength(2);
  },
);
