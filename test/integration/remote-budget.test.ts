import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Publisher } from '../../src/bus/publisher.ts';
import type { Status } from '../../src/actions/health/report.ts';
import { clockOf } from '../../src/actions/clock.ts';
import { stateHome } from '../../src/state/directory.ts';
import { BudgetFile, RemoteBudget } from '../../src/state/remote-budget.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { remoteLimits } from '../../src/transport/clone/forges.ts';
import { Bus, scratch } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';

it(
  'ten hosts of one machine stay inside the budget of their remote, and all of them get through',
  { tags: 'long' },
  async () => {
    const folder = scratch();
    let now = Date.UTC(2026, 5, 9);
    const limits = { host: 'github.com', pushesPerMinute: 6, readsPerSecond: 15 };
    const hosts = Array.from({ length: 10 }, (_, n) => ({
      budget: new RemoteBudget(new BudgetFile(folder, limits.host), limits, () => now),
      pushes: 0,
      // Each one has messages again a few seconds after its last push.
      next: now + n * 700,
    }));
    const granted: number[] = [];
    const end = now + 20 * 60_000;
    for (; now < end; now += 500) {
      for (const host of hosts) {
        if (host.next > now) continue;
        const wait = await host.budget.push();
        if (wait > 0) host.next = now + wait;
        else {
          granted.push(now);
          host.pushes++;
          host.next = now + 5000;
        }
      }
    }
    const busiest = granted.map(
      (from) => granted.filter((at) => at >= from && at < from + 60_000).length,
    );
    expect(Math.max(...busiest)).toBe(6);
    expect(granted.length).toBeGreaterThanOrEqual(6 * 20 - 6);
    expect(Math.min(...hosts.map(({ pushes }) => pushes))).toBeGreaterThan(0);
  },
);

it('reads are counted by the second, and a clock that is set back holds nothing up', async () => {
  let now = 1_000_000;
  const limits = { host: 'example.com', readsPerSecond: 2, pushesPerMinute: 1 };
  const budget = new RemoteBudget(new BudgetFile(scratch(), limits.host), limits, () => now);
  expect([await budget.read(), await budget.read(), await budget.read()]).toEqual([0, 0, 1000]);
  now += 1000;
  expect(await budget.read()).toBe(0);
  expect([await budget.push(), await budget.push()]).toEqual([0, 60_000]);
  now -= 3_600_000;
  expect(await budget.push()).toBe(0);
});

it('known forges have a budget, others have none, and git’s configuration decides over both', () => {
  const none = new Map<string, string>();
  const github = { host: 'github.com', pushesPerMinute: 6, readsPerSecond: 15 };
  for (const url of [
    'git@github.com:team/bus.git',
    'https://github.com/team/bus',
    'ssh://git@GitHub.com/team/bus.git',
  ]) {
    expect(remoteLimits(url, none)).toEqual(github);
  }
  for (const url of ['/srv/bus.git', 'file:///srv/bus.git', 'git@example.com:bus.git', undefined])
    expect(remoteLimits(url, none)).toBeUndefined();
  const settings = new Map([
    ['crosstalk.pushesperminute', '30'],
    ['crosstalk.readspersecond', '0'],
  ]);
  expect(remoteLimits('git@github.com:team/bus.git', settings)).toEqual({
    host: 'github.com',
    pushesPerMinute: 30,
  });
  expect(remoteLimits('https://[::1]:8080/bus', settings)?.host).toBe('___1_');
});

it('a push that the budget holds back takes along what comes meanwhile', async () => {
  const outbox = new Outbox(scratch());
  const entry = (id: string) => ({
    id,
    commits: [
      { author: { name: 'a', email: 'b' }, at: '2026-06-09T19:00:00Z', subject: id, files: [] },
    ],
  });
  const pushes: string[][] = [];
  const waits = [30, 0];
  const publisher = new Publisher({
    outbox,
    now: () => new Date(),
    mayPush: () => Promise.resolve(waits.shift() ?? 0),
    publish: (entries) => {
      pushes.push(entries.flat().map(({ subject }) => subject));
      const commits = entries.flat().length;
      return Promise.resolve({ ok: true, tip: '', commits, attempts: 1, refused: [] });
    },
    lock: () => Promise.resolve({ ok: true, release: () => Promise.resolve() }),
  });
  await outbox.put(entry('A'));
  const first = publisher.publish('A');
  await outbox.put(entry('B'));
  await Promise.all([first, publisher.publish('B')]);
  expect(pushes).toEqual([['A', 'B']]);
});

it(
  'what the budget holds back for long is queued, says so, and status shows the headroom',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    await host.run('sync');
    git(host.dir, 'config', 'crosstalk.pushesPerMinute', '2');
    // All within a minute, however slow the machine is.
    const at = new Date();
    const clock = { ...clockOf({}), now: () => at };
    const run = (...argv: string[]): Promise<Ran> => host.runWith({ clock }, ...argv);
    const outs: string[] = [];
    for (let n = 0; n < 3; n++) outs.push((await run('send', '--to', 'worker', 'x')).out);
    expect(outs.map((out) => out.split(':')[0])).toEqual(['Sent', 'Sent', 'Queued']);
    const { err } = await run('send', '--to', 'worker', 'x');
    expect(err).toMatch(
      /queued, not on the remote yet: held by the push budget of the remote until /,
    );
    const status = JSON.parse((await run('status', '--json')).out) as Status;
    expect(status.push_budget).toMatchObject({ host: 'local', pushes_per_minute: 2, used: 2 });
    expect((await run('status')).out).toContain('2 of 2 pushes in the last minute, the next at');
    git(host.dir, 'config', 'crosstalk.pushesPerMinute', '0');
    expect((await host.run('sync')).out).toContain('Pushed: 2');
    expect(bus.messages()).toHaveLength(4);
  },
);

it('the budget goes by the time that a command is given: nobody waits for the minute to be over', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  await host.run('sync');
  git(host.dir, 'config', 'crosstalk.pushesPerMinute', '1');
  let at = Date.UTC(2030, 0, 1);
  const clock = { ...clockOf({}), now: () => new Date(at) };
  const send = async (): Promise<string | undefined> =>
    (await host.runWith({ clock }, 'send', '--to', 'worker', 'x')).out.split(':')[0];
  expect(await send()).toBe('Sent');
  at += 1000;
  expect(await send()).toBe('Queued');
  const status = await host.runWith({ clock }, 'status', '--json');
  expect((JSON.parse(status.out) as Status).push_budget?.next_at).toBe('2030-01-01T00:01:00.000Z');
  // Past the minute, and past the time after which whoever waited in line counts as gone.
  at += 65_000;
  await host.runWith({ clock }, 'sync');
  expect(bus.messages()).toHaveLength(2);
});

it('whatever asks the remote takes from the budget of reads', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  await host.run('sync');
  git(host.dir, 'config', 'crosstalk.readsPerSecond', '1000');
  const folder = join(stateHome({ ...process.env, ...host.env }), 'budgets', 'local');
  const last = (): number => {
    const text = readFileSync(join(folder, 'taken.json'), 'utf8');
    return Math.max(...(JSON.parse(text) as { reads: number[] }).reads);
  };
  let before = 0;
  for (const args of [['log'], ['sync'], ['doctor']]) {
    await host.run(...args);
    expect([args[0], last() > before]).toEqual([args[0], true]);
    before = last();
  }
});
