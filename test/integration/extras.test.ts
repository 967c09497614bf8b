import { expect, it, onTestFinished, vi } from 'vitest';
import { Extras } from '../../src/dispatcher/extras/extras.ts';
import type { Engine, EngineExtra } from '../../src/dispatcher/run/engine.ts';
import { Pools } from '../../src/dispatcher/pools/pools.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

type EngineExtras = Engine['extras'];

const NAMES = ['pools', 'schedules', 'subscriptions', 'sessions'];

/** Has dispatchers use other extras than those that they were made with, until the test ends. */
function using(change: (all: readonly EngineExtra[]) => readonly EngineExtra[]): {
  end: () => void;
} {
  const descriptor = Object.getOwnPropertyDescriptor(Extras.prototype, 'all');
  const all = descriptor?.get as (this: EngineExtras) => readonly EngineExtra[];
  const spy = vi.spyOn(Extras.prototype, 'all', 'get').mockImplementation(function (
    this: EngineExtras,
  ) {
    return change(all.call(this));
  });
  const end = (): void => {
    spy.mockRestore();
  };
  onTestFinished(end);
  return { end };
}

/** What fails in the dispatcher, as status says it. */
const stalled = async (host: Host): Promise<string> => {
  const { out } = await host.run('status');
  return (
    /^.*the dispatcher's work fails since \S+ \S+ (.*); it is tried again/m.exec(out)?.[1] ?? ''
  );
};

it('a dispatcher has these extras', async () => {
  const seen: string[][] = [];
  using((all) => {
    seen.push(all.map(({ name }) => name));
    return all;
  });
  const host = await new Bus().host('front', { worker: 'echo done' });
  await host.once();
  expect(seen[0]).toEqual(NAMES);
});

it.each(NAMES)('without %s mail is answered, and work is handed on', async (name) => {
  using((all) => all.filter((one) => one.name !== name));
  const bus = new Bus();
  const host = await bus.host('front', {
    boss: agent('coordinator', 'helper'),
    helper: 'echo part',
  });
  await host.send('boss', 'goal');
  for (let pass = 0; pass < 3; pass++) await host.once();
  const answers = bus.from('boss').filter(({ message }) => message.re.length > 0);
  expect(answers).toHaveLength(1);
});

it('mail that asks for an extra waits where that is not there, and status names it', async () => {
  const without = using((all) => all.filter(({ name }) => name !== 'pools' && name !== 'sessions'));
  const bus = new Bus();
  const host = await bus.host('front', {
    shared: 'echo done',
    talker: { default: { cli: 'claude -p', session: 'resume' } },
    well: 'echo done',
  });
  host.edit({ 'local/actors/shared.md': '---\nname: shared\nserve: one\n---\n\nWork.\n' });
  for (const name of ['shared', 'talker', 'well']) await host.send(name, 'hello');
  const ran = await host.run('dispatch', '--once', '--host', 'front');
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('shared: it needs the extra pools, which is not there');
  expect(ran.err).toContain('talker: it needs the extra sessions, which is not there');
  expect(bus.from('well')).toHaveLength(1);
  expect(bus.from('shared')).toHaveLength(0);
  without.end();
  await host.once();
  expect(bus.from('shared')).toHaveLength(1);
});

it('a guard that fails holds its mail, and status names it, until it does not', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const spy = vi.spyOn(Pools.prototype, 'ready').mockRejectedValue(new Error('no such claim'));
  onTestFinished(() => {
    spy.mockRestore();
  });
  await host.send('worker', 'hello');
  host.start();
  await until('it in status', async () => (await stalled(host)) === 'worker: pools: no such claim');
  expect(bus.from('worker')).toHaveLength(0);
  spy.mockRestore();
  await until('the answer', () => bus.from('worker').length === 1);
});

it('an observer that fails at every point loses nothing, and status names it', async () => {
  const fails = (): Promise<never> => Promise.reject(new Error('no such book'));
  const noisy: EngineExtra = {
    name: 'noisy',
    ingest: fails,
    look: fails,
    afterRun: fails,
    stop: fails,
  };
  using((all) => [noisy, ...all]);
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'hello');
  const running = host.start();
  await until('the answer', () => bus.from('worker').length === 1);
  await until('it in status', async () => (await stalled(host)) === 'noisy: no such book');
  await running.stop();
  expect(await host.run('dlq', '--json')).toMatchObject({ out: '[]\n' });
});

it('an extra that is added is called when its time has come, without news', async () => {
  const due = Date.now() + 1500;
  let rose = 0;
  const sunrise: EngineExtra = {
    name: 'sunrise',
    ingest: () => {
      if (Date.now() >= due && rose === 0) rose = Date.now();
      return Promise.resolve();
    },
    next: () => (rose === 0 ? new Date(due) : undefined),
  };
  using((all) => [...all, sunrise]);
  const host = await new Bus().host('front', { worker: 'echo done' });
  host.start('--interval', '600');
  await until('the sunrise', () => rose > 0);
});
