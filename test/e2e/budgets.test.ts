import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { git } from '../support/git.ts';
import { Bus, type Host } from '../support/bus.ts';
import { billed, billedRuns, DAY_MS, pass } from '../support/passes.ts';
import { cellIn } from '../support/rows.ts';

const runs = (host: Host): number => billedRuns(host).length;

async function world(options: Record<string, string | number>): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: { default: { cli: billed(), ...options } } });
  return { bus, host };
}

const bodies = (bus: Bus): string[] =>
  bus
    .from('worker')
    .map(({ message }) => `${message.interim === true ? 'held: ' : ''}${message.body}`);

it('mail beyond the budget of a day waits, its asker is told once, and the next day lets it go', async () => {
  const { bus, host } = await world({ max_usd_per_day: '0.50' });
  for (const n of [1, 2, 3]) {
    await host.send('worker', `task ${String(n)}`);
    await pass(host);
  }
  expect(runs(host)).toBe(2);
  const parked = (await pass(host)).filter(({ event }) => event === 'parked');
  expect(parked).toEqual([]);

  const said = 'max_usd_per_day of worker.default is $0.5, and $0.5 are spent';
  const held = bodies(bus).filter((body) => body.startsWith('held: '));
  expect(held).toHaveLength(1);
  expect(held[0]).toContain(`worker on front has not begun: ${said}. It goes on at `);
  expect(held[0]).toContain('crosstalk resume --for worker');

  // A clock that is set back buys nothing, in this month or in the one before.
  for (const back of [1, 40]) await pass(host, -back * DAY_MS);
  expect(runs(host)).toBe(2);
  expect(bodies(bus)).toHaveLength(3);

  await pass(host, DAY_MS);
  expect(bodies(bus).filter((body) => body === 'It is done.\n')).toHaveLength(3);
});

it(
  'status, explain and the log say what waits for a budget, and resume --for lets it run',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ max_tokens_per_day: 42 });
    await host.send('worker', 'one');
    const running = host.start();
    await running.saw('dispatch_done');
    const question = await host.send('worker', 'two');
    const parked = await running.saw('parked');
    expect(parked).toMatchObject({
      actor: 'worker',
      tier: 'default',
      reason: 'budget',
      messages: [question],
      said: 'max_tokens_per_day of worker.default is 42 tokens, and 42 tokens are spent',
    });
    await running.saw(
      'tick',
      (tick) => running.events.indexOf(tick) > running.events.indexOf(parked),
    );
    const status = (await host.run('status')).out;
    expect(status).toContain('let it run now with: crosstalk resume --for worker');
    expect((await host.run('explain', question, 'worker')).out).toContain(
      'the budget of the day is spent, tried again at ',
    );
    // The note is no question.
    expect((await host.run('inbox')).out).toContain('worker on front has not begun');
    expect((await host.run('inbox', '--questions')).out).not.toContain('has not begun');
    expect((await host.run('resume', '--for', 'nobody')).out).toContain('Nothing for nobody waits');
    expect((await host.run('resume', '--for', 'worker')).out).toContain('for worker: 1 message ');
    expect((await host.run('replies', '--wait', question)).out).toContain('It is done.');
    expect(bodies(bus).filter((body) => body.startsWith('held: '))).toHaveLength(1);

    // Only what waited was let go.
    await host.send('worker', 'three');
    await running.saw('parked', ({ messages }) => !(messages as string[]).includes(question));
    expect(runs(host)).toBe(2);
  },
);

it(
  'actors that begin at once stay within the machine’s budget once it is known what a run costs',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const names = ['one', 'two', 'three', 'four', 'five'];
    const host = await bus.host('front', Object.fromEntries(names.map((name) => [name, billed()])));
    git(host.dir, 'config', 'crosstalk.maxUsdPerDay', '0.75');
    await host.send('one', 'first');
    await pass(host);
    for (const name of names.slice(1)) await host.send(name, 'task');
    await pass(host);
    expect(runs(host)).toBe(3);
    const told = bus.messages().filter(({ message }) => message.interim === true);
    expect(told).toHaveLength(2);
  },
);

it('the budget of the machine holds for all tiers, and one that cannot be read lets nothing run', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: billed(), other: billed() });
  git(host.dir, 'config', 'crosstalk.maxUsdPerDay', '0.25');
  await host.send('worker', 'one');
  await pass(host);
  await host.send('other', 'two');
  const log = await pass(host);
  expect(log.find(({ event }) => event === 'parked')?.['said']).toBe(
    'git config crosstalk.maxUsdPerDay is $0.25, and $0.25 are spent',
  );
  git(host.dir, 'config', 'crosstalk.maxUsdPerDay', 'much');
  await host.send('worker', 'three');
  const later = await pass(host);
  expect(later.find(({ event }) => event === 'parked')?.['said']).toContain('expected an amount');
  expect(runs(host)).toBe(1);
});

it('the budget of a thread holds in that thread alone', { tags: 'long' }, async () => {
  const { host } = await world({ max_usd_per_thread: '0.25' });
  const question = await host.send('worker', 'one');
  await pass(host);
  const [answer] = host.bus.from('worker');
  await host.run('reply', answer?.relPath ?? '', 'and more');
  const log = await pass(host);
  expect(log.find(({ event }) => event === 'parked')).toMatchObject({
    reason: 'thread_budget',
    said: 'max_usd_per_thread of worker.default is $0.25, and $0.25 are spent',
  });
  expect(runs(host)).toBe(1);
  await host.send('worker', 'another thread');
  await pass(host);
  expect(runs(host)).toBe(2);
  expect(question).toBeTruthy();
});

it('claude is handed the rest of the budget as its own cap', { tags: 'long' }, async () => {
  const bus = new Bus();
  const caps = join(bus.root, 'caps');
  const cli = `CAPS=${caps} ${billed()}`;
  const host = await bus.host('front', { worker: { default: { cli, max_usd_per_day: '0.70' } } });
  for (const n of [1, 2, 3]) {
    await host.send('worker', `task ${String(n)}`);
    await pass(host);
  }
  expect(readFileSync(caps, 'utf8').trim().split('\n')).toEqual(['0.7000', '0.4500', '0.2000']);
});

it('a budget of money needs a CLI that states money, and a budget of tokens one that states them', async () => {
  const { host } = await world({});
  const set = async (...options: string[]): Promise<string> => {
    const ran = await host.run('actor', 'set', 'worker', ...options);
    expect(ran.code).toBe(2);
    return ran.err;
  };
  expect(await set('cli=codex exec -', 'max_usd_per_day=1')).toContain(
    'codex states no money; set max_tokens_per_day instead',
  );
  expect(await set('cli=cat | sort', 'max_tokens_per_day=1000')).toContain('is not known');
  expect(await set('max_usd_per_day=much')).toContain('expected an amount of US dollars');
  const done = await host.run(
    'actor',
    'set',
    'worker',
    'cli=codex exec -',
    'max_tokens_per_day=1000',
  );
  expect(done.code, done.err).toBe(0);
});

it(
  'a budget that is raised lets go what waits for it, and cancelled mail waits for none',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ max_usd_per_day: '0.25' });
    for (const text of ['one', 'two']) {
      await host.send('worker', text);
      await pass(host);
    }
    expect(runs(host)).toBe(1);
    const raised = await host.run('actor', 'set', 'worker', 'max_usd_per_day=0.50');
    expect(raised.code, raised.err).toBe(0);
    await pass(host);
    expect(runs(host)).toBe(2);

    const third = await host.send('worker', 'three');
    await pass(host);
    await host.run('cancel', third);
    await pass(host);
    expect(cellIn(host.state, 'budget-holds')?.['held']).toEqual([]);
    expect(runs(host)).toBe(2);
    expect(bodies(bus).filter((body) => body.startsWith('held: '))).toHaveLength(2);
  },
);

it(
  'a delivery that failed is not tried again beyond a budget, and is when the day is over',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const cli = billed('fail');
    const tier = { cli, max_usd_per_day: '0.25', attempts: 2, retry_delay: '10ms' };
    const host = await bus.host('front', { worker: { default: tier } });
    await host.send('worker', 'one');
    for (const off of [0, 60_000, 120_000]) await pass(host, off);
    expect(runs(host)).toBe(1);
    await pass(host, DAY_MS);
    expect(bus.from('worker').some(({ message }) => message.failed?.reason === 'exit_code')).toBe(
      true,
    );
  },
);
