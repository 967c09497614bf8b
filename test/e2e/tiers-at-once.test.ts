import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { Bus, type Host } from '../support/bus.ts';
import { billedRuns, DAY_MS, pass, printing } from '../support/passes.ts';
import { until } from '../support/wait.ts';

const TIERS = ['a', 'b', 'c', 'd'];

/** Where a machine keeps what its tiers may use, and whether they share it. */
type Kept = 'machine' | 'tier' | 'count';

/** Runs of $0.25, each of which waits for a gate, in four lanes with money for two. */
class Lanes {
  readonly bus = new Bus();
  readonly #gate = join(this.bus.root, 'gate');
  readonly #begun = join(this.bus.root, 'begun');
  readonly #kept: Kept;

  readonly #cap: string;

  constructor(kept: Kept, cap = '') {
    this.#kept = kept;
    this.#cap = cap;
  }

  async host(): Promise<Host> {
    const wait = `echo >> ${this.#begun}; while [ ! -e ${this.#gate} ]; do sleep 0.02; done`;
    const result = {
      ...{ type: 'result', result: 'It is done.', total_cost_usd: 0.25 },
      usage: { input_tokens: 30, output_tokens: 12 },
    };
    const cli = `${printing(this.bus, 'claude', result, 0, wait)} -p${this.#cap}`;
    const day = { max_usd_per_day: '0.50' };
    const tiers =
      this.#kept === 'count'
        ? { a: { cli, count: 4, ...day } }
        : Object.fromEntries(
            TIERS.map((tier) => [tier, { cli, ...(this.#kept === 'tier' && day) }]),
          );
    const host = await this.bus.host('front', { worker: tiers });
    if (this.#kept === 'machine') git(host.dir, 'config', 'crosstalk.maxUsdPerDay', '0.50');
    return host;
  }

  /** Asks each tier something, each in a conversation of its own. */
  async ask(host: Host, round: string): Promise<void> {
    for (const tier of TIERS)
      await host.send('worker', 'a task', '--from', `${round}-${tier}`, '--tier', tier);
  }

  get begun(): number {
    return existsSync(this.#begun) ? readFileSync(this.#begun, 'utf8').length : 0;
  }

  /** Lets the runs come to their end, from now on at once. */
  open(): void {
    writeFileSync(this.#gate, '');
  }

  /** Whom the actor told that mail waits. */
  get told(): string[] {
    return this.bus
      .from('worker')
      .filter(({ message }) => message.interim === true)
      .flatMap(({ message }) => message.to.map(({ name }) => name))
      .sort();
  }

  get answers(): number {
    return this.bus.from('worker').filter(({ message }) => message.interim !== true).length;
  }
}

it.each<Kept>(['machine', 'count'])(
  'of four runs at once with money for two, one holds all of it until it says what it used (%s)',
  { tags: 'long' },
  async (kept) => {
    const lanes = new Lanes(kept);
    const host = await lanes.host();
    await lanes.ask(host, 'first');
    const running = host.start();
    await until('a run', () => lanes.begun === 1);
    await running.saw('tick');
    expect(lanes.begun).toBe(1);
    lanes.open();
    await until('those are told whose mail waits', () => lanes.told.length === 2);
    await running.stop();
    expect([lanes.begun, lanes.answers]).toEqual([2, 2]);
    await pass(host);
    expect(lanes.begun).toBe(2);

    // The next day has money for two again; nobody is told twice that it waits.
    await lanes.ask(host, 'second');
    await pass(host, DAY_MS);
    expect([lanes.begun, lanes.answers]).toEqual([4, 4]);
    expect(lanes.told).toHaveLength(6);
    expect((await host.run('resume', '--for', 'worker')).out).toContain('4 messages');
    await pass(host, DAY_MS);
    expect([lanes.begun, lanes.answers, lanes.told.length]).toEqual([8, 8, 6]);
    expect(billedRuns(host)).toHaveLength(8);
  },
);

it('a command that caps its own runs lets so many begin at once as there is money for', async () => {
  const lanes = new Lanes('count', ' --max-budget-usd 0.25');
  const host = await lanes.host();
  await lanes.ask(host, 'first');
  const running = host.start();
  await until('two runs at once', () => lanes.begun === 2);
  lanes.open();
  await until('those are told whose mail waits', () => lanes.told.length === 2);
  await running.stop();
  expect([lanes.begun, lanes.answers]).toEqual([2, 2]);
});

it(
  'each of four tiers has its own budget, and one that is spent stops no other',
  { tags: 'long' },
  async () => {
    const lanes = new Lanes('tier');
    lanes.open();
    const host = await lanes.host();
    for (const round of ['first', 'second']) {
      await lanes.ask(host, round);
      await pass(host);
    }
    await host.send('worker', 'a task', '--from', 'third', '--tier', 'a');
    await pass(host);
    expect([lanes.begun, lanes.answers, lanes.told]).toEqual([8, 8, ['third']]);
  },
);
