import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { billed, billedRuns, ledgerFile, pass } from '../support/passes.ts';
import { fill } from '../support/rows.ts';
import { until } from '../support/wait.ts';

async function machine(options: Record<string, string>): Promise<Host> {
  return new Bus().host('front', { worker: { default: { cli: billed(), ...options } } });
}

/** Lines that no version of ours has written. */
function damage({ id, ...line }: Record<string, unknown>): string[] {
  const lines = [
    { at: 'zzzz', id: '1' },
    { ...line, id: '2', at: '9999-99-99T00:00:00.000Z' },
    { ...line, id: '3', thread: {} },
    { ...line, id: '4', usage: null },
    { ...line, id: '5', usage: { input: 'x', cached: 0, output: [], usd: '1e308' } },
    { ...line, id: '6', usage: { input: 1, cached: 0, output: 1, usd: -700 } },
    [id],
    null,
  ];
  return [...lines.map((one) => JSON.stringify(one)), `{"at":"${String(line['at'])}`];
}

it(
  'damaged lines of the ledger buy nothing, stop nothing, and stay out of every sum',
  { tags: 'long' },
  async () => {
    const host = await machine({ max_usd_per_day: '2', max_usd_per_thread: '2' });
    await host.send('worker', 'one');
    await pass(host);
    const [line] = billedRuns(host);
    appendFileSync(ledgerFile(host), damage({ ...line }).join('\n'));
    const question = await host.send('worker', 'two');
    // Of three of them it is known that they were runs, and they count as what they were handed.
    const [parked] = (await pass(host)).filter(({ event }) => event === 'parked');
    expect(parked?.['said']).toMatch(
      /^max_usd_per_day of worker.default is \$2, and \$6.25 are spent \(\$6 of it /,
    );
    await host.run('actor', 'set', 'worker', 'max_usd_per_day=20', 'max_usd_per_thread=20');
    const log = await pass(host);
    expect(log.filter(({ event }) => event === 'internal_error')).toEqual([]);
    expect(log.some(({ event }) => event === 'dispatch_done')).toBe(true);
    for (const by of ['actor', 'thread', 'day']) {
      const cost = await host.run('cost', '--by', by, '--json');
      expect(cost.code, cost.err).toBe(0);
      const { total, unstated } = JSON.parse(cost.out) as {
        total: { runs: number; usd: number };
        unstated: number;
      };
      expect([total.runs, total.usd, unstated]).toEqual([5, 0.5, 3]);
    }
    expect((await host.run('replies', question)).out).toContain('It is done.');
  },
);

it('sums of the ledger that are damaged are made anew', async () => {
  const host = await machine({});
  await host.send('worker', 'one');
  await pass(host);
  for (const sums of ['{"bytes":5,"sums":[null]}', '{"bytes":-9,"sums":[{}]}', '[]', '{"by']) {
    writeFileSync(ledgerFile(host).replace('.jsonl', '.sums'), sums);
    const cost = await host.run('cost', '--json');
    expect(cost.code, cost.err).toBe(0);
    expect(JSON.parse(cost.out)).toMatchObject({ total: { runs: 1, usd: 0.25 } });
  }
});

it('a ledger that cannot be read is not taken for an empty one', async () => {
  const host = await machine({});
  const folder = join(host.state, 'ledger');
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, '');
  const cost = await host.run('cost');
  expect([cost.code, cost.out]).toEqual([1, '']);
  expect(cost.err).toContain(`ENOTDIR: not a directory, scandir '${folder}'`);
});

it(
  'with a ledger that cannot be read, nothing runs that has a budget',
  { tags: 'long' },
  async () => {
    const host = await machine({ max_usd_per_day: '0.25' });
    await host.send('worker', 'one');
    await pass(host);
    await host.send('worker', 'two');
    const folder = dirname(ledgerFile(host));
    renameSync(folder, `${folder}.aside`);
    writeFileSync(folder, '');
    const running = host.start();
    const failed = await running.saw('internal_error');
    expect(failed['error']).toContain('ENOTDIR');
    expect(running.count('dispatch_done')).toBe(0);
    rmSync(folder);
    renameSync(`${folder}.aside`, folder);
    const parked = await running.saw('parked');
    expect(parked['reason']).toBe('budget');
  },
);

it('a run that a full disk kept from the ledger is written there as soon as its outcome is', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const begun = `${gate}.begun`;
  const cli = `touch ${begun}; while [ ! -e ${gate} ]; do sleep 0.05; done; echo done`;
  const host = await bus.host('front', { worker: cli });
  await host.send('worker', 'one');
  const running = host.start();
  await until('the run', () => existsSync(begun));
  // Neither takes anything: a file is in the place of the folder, and the database refuses what is to leave.
  const folder = join(host.state, 'ledger');
  rmSync(folder, { recursive: true, force: true });
  writeFileSync(folder, '');
  const accept = fill(host.state, 'outbox');
  writeFileSync(gate, '');
  await running.saw('record_failed');
  rmSync(folder);
  accept();
  await running.saw('dispatch_done');
  await running.stop();
  expect(billedRuns(host)).toMatchObject([{ actor: 'worker', ended: 'answered' }]);
});
