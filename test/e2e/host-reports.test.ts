import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WebNow } from '../../src/api/api.ts';
import type { Status } from '../../src/actions/health/report.ts';
import { clockOf } from '../../src/actions/clock.ts';
import { Bus, scratch, type Actors, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { push } from '../support/push.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const ANSWERS = 'cat >/dev/null; echo done';
const REPORT = 'data/hosts/server.json';

type Hosts = NonNullable<Status['hosts']>;

/** A server with these actors, and a laptop on which somebody looks. */
async function two(actors: Actors): Promise<{ bus: Bus; server: Host; laptop: Host }> {
  const bus = new Bus();
  const server = await bus.host('server', actors);
  return { bus, server, laptop: await bus.host('laptop', { idle: 'true' }) };
}

/** What `status --all` says, as text and as JSON. */
async function seenFrom(laptop: Host): Promise<{ text: string; hosts: Hosts }> {
  await laptop.news();
  const [text, json] = [
    await laptop.run('status', '--all', '--host', 'laptop'),
    await laptop.run('status', '--all', '--host', 'laptop', '--json'),
  ];
  expect([text.code, json.code]).toEqual([0, 0]);
  return { text: text.out, hosts: (JSON.parse(json.out) as Status).hosts ?? [] };
}

const saidBy = (hosts: Hosts): Hosts[number]['said'] | undefined =>
  hosts.find(({ alias }) => alias === 'server')?.said;

/** How often the server has reported. */
const reports = (bus: Bus): number =>
  git(bus.hub, 'log', '--format=%h', 'main', '--', REPORT).split('\n').filter(Boolean).length;

it('a host says with its answer what runs and waits on it, and another machine shows it as its word', async () => {
  const dir = scratch();
  const [begun, go] = [join(dir, 'begun'), join(dir, 'go')];
  const { bus, server, laptop } = await two({
    worker: ANSWERS,
    slow: `cat >/dev/null; touch ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done; echo late`,
  });
  const running = server.start();
  const first = await laptop.send('slow', 'take your time');
  await until('the run', () => existsSync(begun));
  const second = await laptop.send('slow', 'and this', '--new');
  await running.saw('tick');
  expect(reports(bus)).toBe(0);
  await laptop.send('worker', 'quick');
  await until('the answer', () => bus.from('worker').length === 1);
  // The answer is a commit of its own, as before.
  expect((await running.saw('push_done'))['commits']).toBe(1);
  expect(git(bus.hub, 'log', '-2', '--format=%an', 'main').trim().split('\n')).toEqual([
    'server',
    'worker',
  ]);

  const { text, hosts } = await seenFrom(laptop);
  const channel = laptop.channel();
  expect(saidBy(hosts)).toMatchObject({
    running: {
      count: 1,
      messages: [{ actor: 'slow', channel, relPath: first }],
    },
    failed: { count: 0, messages: [] },
  });
  expect(text).toMatch(/\n {2}laptop +this machine, as above\n/);
  expect(text).toMatch(/\n {2}server +last word \d+ s ago; \d+ s ago it said: 1 running, /);
  expect(text).toContain(`running: slow in general since `);
  expect(saidBy(hosts)?.waiting.messages.map(({ relPath }) => relPath)).toEqual([second]);
  expect(hosts.find(({ alias }) => alias === 'laptop')).toMatchObject({ this_machine: true });

  // Nobody is told unasked, and nothing else takes the file for something of its own.
  const plain = await laptop.run('status', '--host', 'laptop');
  expect(plain.out).not.toContain('own word');
  expect(JSON.parse((await laptop.run('status', '--json')).out)).not.toHaveProperty('hosts');
  expect((await laptop.run('log')).out).not.toContain('how server is');
  const { out: checks } = await laptop.run('doctor');
  expect(checks).not.toContain('data/hosts');
  expect(checks).not.toContain('not shown');
  await laptop.run('sync');
  expect(existsSync(join(laptop.dir, 'data/channels'))).toBe(true);
  expect(existsSync(join(laptop.dir, 'data/hosts'))).toBe(false);
  const web = await Web.start(laptop);
  const now = await web.get<WebNow>('/api/now');
  const shown = now.hosts.find(({ alias }) => alias === 'server')?.said;
  expect(shown?.running.messages[0]).toMatchObject({ actor: 'slow', relPath: first });

  // While it has nothing to push, it says nothing, although the run is over for all it knows.
  const tip = git(bus.hub, 'rev-parse', 'main');
  const ticks = running.count('tick');
  await until('more ticks', () => running.count('tick') > ticks + 3);
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(tip);
  expect(running.events.some(({ event }) => event === 'foreign_path')).toBe(false);
  writeFileSync(go, '');
});

it('a host says so at most every ten minutes, with a push, and only when something is different', async () => {
  const { bus, server, laptop } = await two({
    worker: ANSWERS,
    broken: { default: { cli: 'exit 3', attempts: 1 } },
  });
  let at = Date.now();
  const pass = async (minutes: number): Promise<number> => {
    at += minutes * 60_000;
    const clock = { ...clockOf({}), now: () => new Date(at) };
    const before = reports(bus);
    const ran = await server.runWith({ clock }, 'dispatch', '--once', '--host', 'server');
    expect(ran.code).toBe(0);
    return reports(bus) - before;
  };
  expect(await pass(0)).toBe(0);
  await laptop.send('worker', 'one');
  expect(await pass(0)).toBe(1);
  await laptop.send('broken', 'two');
  await pass(1);
  for (const minutes of [1, 4, 3]) {
    await laptop.send('worker', 'three');
    expect(await pass(minutes)).toBe(0);
  }
  // Nothing to push, and so nothing to say.
  expect(await pass(20)).toBe(0);
  await laptop.send('worker', 'four');
  expect(await pass(0)).toBe(1);
  expect(JSON.parse(git(bus.hub, 'show', `main:${REPORT}`))).toMatchObject({
    at: new Date(at).toISOString(),
    failed: { count: 1, messages: [{ actor: 'broken' }] },
  });
  await laptop.send('worker', 'five');
  expect(await pass(20)).toBe(0);
});

it('whatever is pushed in the place of a report is shown as harmless words or not at all', async () => {
  const { server, laptop } = await two({ worker: ANSWERS });
  const relPath = '2026/01/02/030405006Z-0123456789ab.md';
  const mail = {
    actor: 'worker',
    channel: laptop.channel(),
    relPath,
    since: '2026-01-02T03:04:05Z',
  };
  const none = { count: 0, messages: [] };
  const report = { at: '2026-01-02T03:04:05.000Z', running: none, waiting: none, failed: none };
  const escape = '\u001b[2J\u001b]0;owned\u0007';
  const hostile: [string, unknown][] = [
    ['no JSON', 'how are you'],
    ['no object', [report]],
    ['null', null],
    ['huge', { ...report, more: 'x'.repeat(3_000_000) }],
    ['larger than a report', { ...report, more: 'x'.repeat(20_000) }],
    ['a wrong time', { ...report, at: escape }],
    ['a time to come', { ...report, at: '2999-01-01T00:00:00.000Z' }],
    ['wrong counts', { ...report, failed: { count: '7', messages: [] } }],
    ['negative counts', { ...report, failed: { count: -7, messages: [] } }],
    ['no list', { ...report, waiting: { count: 1, messages: { length: 1e9 } } }],
  ];
  for (const [what, content] of hostile) {
    server.edit({ [REPORT]: typeof content === 'string' ? content : JSON.stringify(content) });
    const { text, hosts } = await seenFrom(laptop);
    expect(saidBy(hosts), what).toBe(null);
    expect(text).toMatch(/\n {2}server +nothing heard lately; it has not said how it is\n/);
  }
  push(server, [['120000', 'server.txt', REPORT]]);
  expect(saidBy((await seenFrom(laptop)).hosts)).toBe(null);
  const items = [
    ...['actor', 'channel', 'relPath', 'since'].map((field) => ({ ...mail, [field]: escape })),
    { ...mail, actor: 'nobody' },
    7,
    mail,
  ];
  server.edit({
    [REPORT]: JSON.stringify({
      ...report,
      failed: { count: 900_000, messages: [...items, ...Array.from({ length: 50 }, () => mail)] },
    }),
    'data/hosts/ghost.json': JSON.stringify({ ...report, failed: { count: 6, messages: [] } }),
    'data/hosts/laptop.md': 'nothing',
    'data/hosts/deep/er.json': JSON.stringify(report),
  });
  const { text, hosts } = await seenFrom(laptop);
  expect(text).not.toContain('\u001b');
  expect(text).not.toMatch(/ghost|nobody|owned/);
  expect(hosts.map(({ alias }) => alias)).toEqual(['laptop', 'server']);
  // Of the first eight only what can be told, and of whom its host file names.
  expect(saidBy(hosts)?.failed.messages).toHaveLength(2);
  expect(text).toContain('failed: 899998 more');
  expect((await laptop.run('doctor')).out).not.toContain('data/hosts');
  // It decides nothing: the server does its work, and says so itself.
  await laptop.send('worker', 'hello');
  await server.once();
  expect(saidBy((await seenFrom(laptop)).hosts)?.failed).toEqual({ count: 0, messages: [] });
});

it('nothing is said where it is switched off, nor where there is no other host', async () => {
  const bus = new Bus();
  const server = await bus.host('server', { worker: ANSWERS });
  await server.send('worker', 'one');
  await server.once();
  expect(reports(bus)).toBe(0);
  const laptop = await bus.host('laptop', { idle: 'true' });
  git(server.dir, 'config', 'crosstalk.shareStatus', 'false');
  await laptop.send('worker', 'two');
  await server.once();
  expect(reports(bus)).toBe(0);
  git(server.dir, 'config', '--unset', 'crosstalk.shareStatus');
  await laptop.send('worker', 'three');
  await server.once();
  expect(reports(bus)).toBe(1);
  expect(bus.from('worker')).toHaveLength(3);
});

it('what failed and was answered at the next attempt has not failed', async () => {
  const flag = join(scratch(), 'flag');
  const cli = `cat >/dev/null; test -e ${flag} || { touch ${flag}; exit 3; }; echo done`;
  const { bus, server, laptop } = await two({ flaky: { default: { cli, retry_delay: '100ms' } } });
  await laptop.send('flaky', 'try');
  const running = server.start();
  await running.saw('dead_letter');
  await until('the answer', () => bus.from('flaky').length === 1);
  expect(saidBy((await seenFrom(laptop)).hosts)?.failed).toEqual({ count: 0, messages: [] });
});

it('a remote that takes no reports gets the answers at once', async () => {
  const { bus, server, laptop } = await two({ worker: ANSWERS });
  await laptop.send('worker', 'one');
  const hook = `#!/bin/sh\nwhile read old new ref; do git diff --name-only $old $new | grep -q ^data/hosts/ && exit 1; done\nexit 0\n`;
  writeFileSync(join(bus.hub, 'hooks', 'pre-receive'), hook, { mode: 0o755 });
  const log = await server.once();
  expect(bus.from('worker')).toHaveLength(1);
  expect(log.some(({ event }) => event === 'push_failed' || event === 'set_aside')).toBe(false);
  expect(reports(bus)).toBe(0);
});
