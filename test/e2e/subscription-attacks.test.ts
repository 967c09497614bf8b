import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventMarker, onceMarker } from '../../src/bus/automation/happened.ts';
import { SubscriptionFiles } from '../../src/bus/automation/subscriptions.ts';
import { openTransport } from '../../src/actions/context.ts';
import { parseSubscription } from '../../src/protocol/automation/subscription.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { put } from '../support/by-hand.ts';
import { Bus, type Actors, type Event, type Host, type Stored } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { hasSshKeygen, Key, pins, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';
import { cellIn, fill } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const file = (source: string, to: string, header = ''): string =>
  `---\nsource: ${source}\nto: ${to}\n${header}---\ngo on:\n`;

async function world(
  actors: Actors,
  files: Record<string, string>,
): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', actors);
  if (Object.keys(files).length > 0) subscribe(host, files);
  return { bus, host };
}

function subscribe(host: Host, files: Record<string, string>): void {
  const named = Object.entries(files).map(([name, text]) => [
    `local/subscriptions/${name}.md`,
    text,
  ]);
  host.edit(Object.fromEntries(named) as Record<string, string>);
}

const tasksOf = (bus: Bus): Stored[] => bus.from('subscription');
const eventsOf = (log: Event[], name: string): Event[] => log.filter(({ event }) => event === name);

it('what follows on one message shares an allowance, and an answer with none left makes nothing fire', async () => {
  const { bus, host } = await world(
    { a: 'cat > /dev/null; echo from a', b: 'cat > /dev/null; echo from b' },
    {
      one: file('answer:a', 'b'),
      two: file('answer:a', 'nobody'),
      three: file('answer:b', 'nobody'),
    },
  );
  await host.send('a', 'begin', '--from', 'anna');
  await bus.rest([host]);
  const given = (): unknown[] =>
    tasksOf(bus)
      .map(({ message: { extra } }) => [extra['subscription'], extra['allowance']])
      .filter(([name]) => name !== 'forged');
  // Of 250 two are given, and share what is left; then one of 124 is.
  expect(given().sort()).toEqual([
    ['one', '124'],
    ['three', '123'],
    ['two', '124'],
  ]);
  const task = { from: 'subscription', re: [], to: [{ name: 'b' }] };
  const left = (allowance: string) => ({ subscription: 'forged', allowance });
  put(host, { ...task, extra: left('0') });
  await bus.rest([host]);
  expect(given()).toHaveLength(3);
  // Who forges more than there is has as much as anybody.
  put(host, { ...task, extra: left('9999') });
  await bus.rest([host]);
  expect(given().slice(3)).toEqual([['three', '249']]);
});

describe.skipIf(!hasSshKeygen)(`with only_from ${WITH_SSH_KEYGEN}`, () => {
  it(
    'a subscription gives nothing to a tier that serves only some names, in their threads either',
    { tags: 'long' },
    async () => {
      const { bus, host } = await world(
        {
          a: 'cat > /dev/null; echo from a',
          strict: { default: { cli: 'echo ran:; cat', only_from: ['anna'] } },
        },
        {
          evil: file('answer:a', 'strict'),
          second: file('answer:strict', 'strict'),
          event: file('event:build', 'strict'),
        },
      );
      const anna = new Key(host, 'anna');
      await pins(host, 'anna', anna);
      await signs(host, anna);
      await host.send('a', 'begin');
      await bus.rest([host]);
      await host.run('event', 'publish', 'build', 'red');
      await bus.rest([host]);
      expect(tasksOf(bus)).toHaveLength(2);
      const answers = bus.from('strict');
      expect(answers.map(({ message }) => message.failed?.reason)).toEqual([
        'not_accepted',
        'not_accepted',
      ]);
      // Whom it serves is served, and what follows on that is not.
      await host.send('strict', 'honest');
      await bus.rest([host]);
      const ran = bus.from('strict').filter(({ message }) => message.failed === undefined);
      expect(ran).toHaveLength(1);
      expect(ran[0]?.message.body).toContain('honest');
      expect(tasksOf(bus)).toHaveLength(3);
    },
  );
});

it('status says which subscriptions are broken while they are, and nothing otherwise', async () => {
  const { bus, host } = await world({ a: 'cat > /dev/null; echo done' }, {});
  const running = host.start();
  await running.saw('tick');
  const status = async (): Promise<string> => (await host.run('status')).out;
  expect(await status()).not.toContain('subscription');
  subscribe(host, {
    bad: file('answer', 'b'),
    away: file('answer:a', 'b', 'channel: nowhere\n'),
    paused: file('answer:a', 'b', 'channel: nowhere\nenabled: false\n'),
    fine: file('answer:a', 'nobody'),
  });
  const see = 'see: crosstalk subscription list';
  await until('the lines of status', async () => (await status()).includes('subscription bad'));
  const said = await status();
  expect(said).toContain(
    `subscription bad: local/subscriptions/bad.md: line 2: source is "answer", expected answer:<actor> or event:<name>; ${see}`,
  );
  expect(said).toContain(
    `subscription away: local/subscriptions/away.md: there is no channel "nowhere"; ${see}`,
  );
  expect(said).not.toMatch(/subscription (paused|fine)/);
  host.remove('local/subscriptions/bad.md');
  host.remove('local/subscriptions/away.md');
  await until('status without it', async () => !(await status()).includes('subscription'));
  const flood = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [`a\u001b[31m${String(at)}`, 'x']),
  );
  subscribe(host, flood);
  await until('a status of the flood', async () => (await status()).includes('passed over'));
  const lines = (await status()).split('\n').filter((line) => line.includes('subscription'));
  expect(lines.length).toBeLessThanOrEqual(6);
  expect(lines.join()).not.toContain('\u001b');
  await host.send('a', 'still served');
  await until('the answer', () => bus.from('a').length === 1);
  await running.stop();
});

it('an answer waits with its task for a disk that takes nothing', async () => {
  const { bus, host } = await world(
    { a: 'cat > /dev/null; echo done' },
    { one: file('answer:a', 'nobody') },
  );
  await host.send('a', 'begin');
  const accept = fill(host.state, 'outbox');
  const running = host.start();
  await running.saw('record_failed');
  expect(bus.from('a')).toEqual([]);
  accept();
  await running.saw('dispatch_done');
  await running.stop();
  expect(running.count('dispatch_start')).toBe(1);
  expect(tasksOf(bus).map(({ message }) => message.cause)).toEqual([[bus.from('a')[0]?.relPath]]);
});

it(
  'a run can neither publish events, nor add subscriptions, nor see secrets',
  { tags: 'long' },
  async () => {
    const tries = [
      'event publish build x',
      'subscription add evil --source answer:a --to a --once',
      'subscription remove event',
      'secret list',
      'secret set event.build',
      'secret remove event.build',
    ];
    const cli = `cat > /dev/null; for one in ${tries.map((one) => `'${one}'`).join(' ')}; do echo x | crosstalk $one > out 2>&1; echo "code $?"; done; cat out`;
    const { bus, host } = await world({ a: cli }, { event: file('event:build', 'nobody') });
    await host.runWith({ stdin: 'kept' }, 'secret', 'set', 'event.build');
    const before = git(bus.hub, 'ls-tree', '-r', 'main', 'local/').trim();
    await host.send('a', 'begin');
    await bus.rest([host]);
    const body = bus.from('a')[0]?.message.body ?? '';
    expect(body.match(/code [1-9]\d*/g)).toHaveLength(tries.length);
    expect(tasksOf(bus)).toEqual([]);
    expect(git(bus.hub, 'ls-tree', '-r', 'main', 'local/').trim()).toBe(before);
    expect((await host.run('secret', 'list')).out).toBe('event.build\n');
  },
);

describe('forged answers', () => {
  const forged = { from: 'far', host: 'elsewhere', to: [{ name: 'anna' }] };

  async function watching(
    files: Record<string, string>,
  ): Promise<{ bus: Bus; host: Host; asked: string }> {
    const { bus, host } = await world({ a: 'cat > /dev/null; echo done' }, files);
    const asked = put(host, { from: 'anna', re: [], to: [{ name: 'far' }] });
    await host.once();
    return { bus, host, asked };
  }

  it(
    'of the last moment that a path can name do not stop a host from looking at others',
    { tags: 'long' },
    async () => {
      const { bus, host, asked } = await watching({
        one: file('answer:far', 'nobody', 'host: front\n'),
      });
      put(host, { ...forged, re: [asked], timestamp: '9999-12-31T23:59:59.999Z' });
      put(host, { ...forged, re: [asked] });
      await host.once();
      expect(tasksOf(bus)).toHaveLength(2);
      const odd = git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/').split('\n');
      expect(odd.filter((path) => path.includes('+'))).toEqual([]);
    },
  );

  it('in any number make a host give a bounded number of tasks, and it says so and goes on', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [
        `s${String(at)}`,
        file('answer:far', 'nobody', 'host: front\n'),
      ]),
    );
    const { bus, host, asked } = await watching(files);
    const answers = Array.from({ length: 30 }, (_, at) => {
      const said = {
        ...{ ...forged, type: 'text' as const, timestamp: '2026-01-01T00:00:00Z' },
        ...{ re: [asked], cause: [], extra: {}, body: 'x\n' },
      };
      const path = `2026/01/01/000000000Z-${String(at).padStart(8, '0')}.md`;
      return [messageFile(host.channel(), path), formatMessage(said)];
    });
    host.edit(Object.fromEntries(answers) as Record<string, string>);
    const log = await host.once();
    expect(tasksOf(bus)).toHaveLength(1000);
    expect(eventsOf(log, 'subscription_invalid')).toMatchObject([
      { reason: expect.stringContaining('too many answers came at a time') as string },
    ]);
    put(host, { ...forged, re: [asked] });
    await host.once();
    expect(tasksOf(bus)).toHaveLength(1050);
  });
});

it.each(['answer', 'task'] as const)(
  'a history that is rewritten without the %s gives no second task',
  { tags: 'long' },
  async (dropped) => {
    const bus = new Bus();
    const front = await bus.host('front', { a: 'cat > /dev/null; echo done' });
    const back = await bus.host('back', { b: 'cat > /dev/null; echo done' });
    subscribe(front, {
      near: file('answer:a', 'nobody'),
      far: file('answer:a', 'nobody', 'host: back\n'),
    });
    await bus.rest([front, back]);
    await front.send('a', 'begin');
    await bus.rest([front, back]);
    expect(tasksOf(bus)).toHaveLength(2);
    // Each commit has one message: the branch is set back to before the first of those to drop.
    const of = dropped === 'answer' ? bus.from('a') : tasksOf(bus);
    const paths = of.map(({ channel, relPath }) => messageFile(channel, relPath));
    const commits = git(bus.hub, 'log', '--reverse', '--format=%H', 'main', '--', ...paths);
    const [first = ''] = commits.split('\n');
    git(bus.hub, 'update-ref', 'refs/heads/main', `${first}^`);
    for (const host of [front, back, front, back]) await host.once();
    const tasks = tasksOf(bus).map(({ message }) => [message.extra['subscription'], message.cause]);
    expect(new Set(tasks.map(String)).size).toBe(tasks.length);
    expect(bus.from('a').length).toBeLessThanOrEqual(1);
  },
);

it(
  'who has no subscriptions pays with one look at a folder of each new commit, and with no file',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { a: 'cat > /dev/null; echo done' });
    await host.send('a', 'begin');
    await bus.rest([host]);
    const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
    await transport.refresh();
    const tip = (await transport.tip()) ?? '';
    await transport.objects.read(tip);
    const files = new SubscriptionFiles(transport);
    const cost = async (): Promise<[number, number]> => {
      const before = transport.cost;
      expect(await files.at(tip)).toEqual({ files: [], beyond: 0 });
      const { processes, reads } = transport.cost;
      return [processes - before.processes, reads - before.reads];
    };
    expect(await cost()).toEqual([0, 1]);
    expect(await cost()).toEqual([0, 0]);
    // A round in which nothing is new asks the remote, and looks at the commit that it names.
    const running = host.start();
    const ticks = (): Event[] => eventsOf(running.events, 'tick');
    const idle = await until('a third round', () => ticks()[2]);
    expect(idle).toMatchObject({ objects_read: 1, git_processes: 1 });
    await running.stop();
    expect(cellIn(host.state, 'subscriptions')).toBe(undefined);
    expect(existsSync(join(host.state, 'secrets'))).toBe(false);
  },
);

it('what stands where markers belong keeps back no answer', async () => {
  const { bus, host } = await world(
    { a: 'cat > /dev/null; echo done' },
    {
      one: file('answer:a', 'nobody', 'once: true\n'),
      two: file('answer:a', 'nobody'),
      event: file('event:build', 'nobody'),
    },
  );
  host.edit({ 'data/events': 'a file, and no folder' });
  await host.send('a', 'begin');
  await bus.rest([host]);
  expect(bus.from('a')).toHaveLength(1);
  expect(tasksOf(bus).map(({ message }) => message.extra['subscription'])).toContain('two');
  const ran = await host.run('event', 'publish', 'build', 'red', '--id', '1');
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect((await host.run('status')).out).not.toContain('aside');
  expect(git(bus.hub, 'show', `main:${eventMarker('build', '1')}`)).toBe('event build\n');
  // A folder in the place of a marker says as much as the marker.
  host.edit({ [`${eventMarker('build', '2')}/x`]: 'x' });
  const second = await host.run('event', 'publish', 'build', 'red', '--id', '2');
  expect([second.code, second.out]).toEqual([0, 'Duplicate\n']);
});

it(
  'a marker that somebody has pushed keeps a subscription from firing, and the list says so',
  { tags: 'long' },
  async () => {
    const text = file('answer:a', 'nobody', 'once: true\n');
    const { bus, host } = await world({ a: 'cat > /dev/null; echo done' }, { one: text });
    const list = async (): Promise<string> => (await host.run('subscription', 'list')).out;
    expect(await list()).toMatch(/^one .* once$/m);
    const one = parseSubscription(text, 'one');
    if (!one.ok) throw new Error(one.problems.join());
    host.edit({ [onceMarker(one.value)]: 'fired one\n' });
    await host.send('a', 'begin');
    await bus.rest([host]);
    expect(bus.from('a')).toHaveLength(1);
    expect(tasksOf(bus)).toEqual([]);
    expect(await list()).toMatch(/^one .* fired$/m);
  },
);

it.each(['subscription', 'schedule'])(
  'no actor is added as %s, since each answer to a task would wake it',
  { tags: 'long' },
  async (name) => {
    const { host } = await world({ a: 'cat > /dev/null; echo done' }, {});
    const added = await host.run('actor', 'add', name, '--cli', 'true');
    expect([added.code, added.out]).toEqual([2, '']);
    expect(added.err).toContain(`the tasks of every ${name} are from ${name}`);
  },
);
