import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** Answers each of its messages only once a file with its name exists. */
const when = (root: string, name: string): string =>
  `while test ! -e ${join(root, name)}; do sleep 0.05; done; echo ${name} is done`;

it.each(['with', 'without'])(
  'wait returns the answers that the dispatcher of another machine gives, %s a dispatcher here',
  { tags: 'long' },
  async (here) => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', {
      one: when(bus.root, 'one'),
      two: when(bus.root, 'two'),
    });
    if (here === 'with') await front.start().saw('host_file_loaded');
    const served = back.start();
    const first = await front.send('one', 'first');
    const second = await front.send('two', 'second');

    const any = front.run('wait', '--any', '--timeout', '100', first, second);
    const all = front.run('wait', '--timeout', '100', first, second);
    await served.saw('dispatch_start', ({ actor }) => actor === 'two');
    writeFileSync(join(bus.root, 'two'), '');

    expect(await any).toEqual({
      code: 0,
      out: `PENDING ${first}\nREPLIED ${second}\n  from two ${bus.from('two')[0]!.relPath}\n  two is done\n`,
      err: '',
    });
    expect((await front.run('wait', '--any', second)).code).toBe(0);
    writeFileSync(join(bus.root, 'one'), '');
    const both = await all;
    expect(both.code).toBe(0);
    expect(both.out).toContain(`REPLIED ${first}\n`);
    expect(both.out).toContain('  two is done\n');
  },
);

it(
  'wait leaves asking the remote to the dispatcher, and asks it itself without one',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', { worker: 'echo done' });
    const dispatcher = front.start();
    await until('its heartbeat', () => existsSync(join(front.state, 'heartbeat.json')));
    const fetches = async (meanwhile: () => Promise<unknown>): Promise<number> => {
      const question = await front.send('worker', 'hello');
      const trace = scratch();
      const env = { ...front.env, GIT_TRACE2_EVENT: trace };
      const waiting = new Program({ dir: front.dir, env }, 'wait', '--timeout', '100', question);
      const count = (): number =>
        readdirSync(trace).filter((name) => {
          const [, start = ''] = readFileSync(join(trace, name), 'utf8').split('\n');
          return !name.includes('/') && /"argv":\["git",.*"fetch",/.test(start);
        }).length;
      await until('the first look', () => count() > 0);
      await meanwhile();
      await back.once();
      expect(await waiting.ended()).toBe(0);
      return count();
    };
    const told = await fetches(async () => {
      const ticks = dispatcher.count('tick');
      await until('some polls', () => dispatcher.count('tick') > ticks + 6);
    });
    expect(told).toBe(1);
    await dispatcher.stop();
    expect(await fetches(() => Promise.resolve())).toBeGreaterThan(1);
  },
);

it(
  'wait is told of an answer in a clone that is not the one its dispatcher serves',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', { worker: 'echo done' });
    await front.start().saw('host_file_loaded');
    const clone = join(bus.root, 'second');
    git(bus.root, 'clone', '--quiet', bus.hub, clone);
    const question = await front.send('worker', 'hello');
    const env = { CROSSTALK_TRANSPORT: clone };
    const waiting = front.runWith({ env }, 'wait', '--timeout', '100', question);
    await back.once();
    expect(await waiting).toMatchObject({ code: 0 });
    expect((await waiting).out).toContain('  done\n');
  },
);

it(
  'wait goes on by itself when the dispatcher it relied on is killed',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { idle: 'true' });
    const back = await bus.host('back', { worker: 'echo done' });
    const dispatcher = new Program(front, 'dispatch', '--host', 'front', '--interval', '0.2');
    await dispatcher.saw('host_file_loaded');
    const question = await front.send('worker', 'hello');
    const waiting = new Program(front, 'wait', '--timeout', '100', question);
    const ticks = (): number => dispatcher.events.filter(({ event }) => event === 'tick').length;
    const before = ticks();
    // One tick after a tick that it requested: it is waiting at the socket by now, or will find no
    // dispatcher there.
    await dispatcher.saw('tick', () => ticks() > before + 3);
    await dispatcher.stop('SIGKILL');
    await back.once();
    expect(await waiting.ended()).toBe(0);
    expect(waiting.out).toMatch(/^REPLIED .*\n {2}from worker .*\n {2}done\n$/);
  },
);

it('wait ends with 3 when the time is over, and with 130 when it is interrupted', async () => {
  const host = await new Bus().host('front', { idle: 'true' });
  const question = await host.send('nobody', 'hello');
  const pending = `PENDING ${question}\n`;
  for (const mode of [['--any'], ['--all'], []]) {
    const over = await host.run('wait', ...mode, '--timeout', '0.2', question);
    expect(over).toMatchObject({ code: 3, out: pending });
  }
  const json = await host.run('wait', '--json', '--timeout', '0', question);
  expect(JSON.parse(json.out)).toEqual([
    {
      channel: host.channel(),
      message: question,
      state: 'PENDING',
      replies: [],
      failures: [],
      held_up: ['no host serves nobody; the message waits until one does'],
    },
  ]);

  const controller = new AbortController();
  const interrupted = host.runWith({ stop: controller.signal }, 'wait', question);
  controller.abort();
  expect(await interrupted).toMatchObject({ code: 130, out: '' });

  // Once it has started a git, it has been listening for signals for a while.
  const trace = scratch();
  const running = new Program(
    { dir: host.dir, env: { ...host.env, GIT_TRACE2_EVENT: trace } },
    'wait',
    question,
  );
  await until('a git process', () => readdirSync(trace).length > 0);
  expect(await running.stop('SIGINT')).toBe(130);
});

it('wait wants messages that exist, a time that is one, and not both --all and --any', async () => {
  const host = await new Bus().host('front', { idle: 'true' });
  expect(await host.run('wait', '--all', '--any', '12345678')).toMatchObject({
    code: 2,
    err: 'crosstalk wait: --all and --any were given; give one of them\n',
  });
  expect((await host.run('wait')).code).toBe(2);
  expect((await host.run('wait', ',')).err).toContain('no message was named');
  expect((await host.run('wait', '--timeout', 'long', '12345678')).err).toContain(
    '--timeout is "long", expected seconds',
  );
  expect(await host.run('wait', '12345678')).toMatchObject({ code: 1 });
});
