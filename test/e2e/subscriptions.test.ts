import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, events, type Actors, type Event, type Host, type Stored } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { cellIn, putRow, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/** A file of `local/subscriptions/`. */
function subscription(source: string, to: string, header: Record<string, string> = {}): string {
  const lines = Object.entries({ source, to, ...header });
  return `---\n${lines.map(([key, value]) => `${key}: ${value}`).join('\n')}\n---\ngo on:\n`;
}

async function world(
  actors: Actors,
  files: Record<string, string>,
): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', actors);
  subscribe(host, files);
  return { bus, host };
}

function subscribe(host: Host, files: Record<string, string>): void {
  const named = Object.entries(files).map(([name, text]) => [
    `local/subscriptions/${name}.md`,
    text,
  ]);
  host.edit(Object.fromEntries(named) as Record<string, string>);
}

/** Passes of a dispatcher until nothing is written any more; returns their logs. */
async function settle(bus: Bus, host: Host): Promise<Event[]> {
  const seen: Event[] = [];
  for (let round = 0; round < 12; round++) {
    const before = bus.messages().length;
    seen.push(...(await host.once()));
    if (bus.messages().length === before) return seen;
  }
  throw new Error('no rest');
}

const tasksOf = (bus: Bus): Stored[] =>
  bus.messages().filter(({ message }) => message.extra['subscription'] !== undefined);
const namesOf = (bus: Bus): unknown[] =>
  tasksOf(bus).map(({ message }) => message.extra['subscription']);

it(
  'three subscriptions lead from answer to answer, and nobody coordinates',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world(
      { a: 'echo from a', b: 'echo from b', c: 'echo from c', d: 'echo from d' },
      {
        one: subscription('answer:a', 'b'),
        two: subscription('answer:b', 'c'),
        three: subscription('answer:c', 'd'),
      },
    );
    const asked = await host.send('a', 'begin', '--from', 'anna');
    const log = await settle(bus, host);
    expect(namesOf(bus)).toEqual(['one', 'two', 'three']);
    const [first] = tasksOf(bus);
    const [answer] = bus.from('a');
    expect(first?.message).toMatchObject({
      to: [{ name: 'b' }],
      re: [],
      cause: [answer?.relPath],
      host: 'front',
      body: 'go on:\n\nfrom a\n',
    });
    expect(bus.from('d')[0]?.message).toMatchObject({
      re: [tasksOf(bus)[2]?.relPath],
      to: [{ name: 'subscription', host: 'front' }],
    });
    // Each actor ran once, and nobody else did.
    expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(4);
    expect(log.filter(({ event }) => event === 'subscription_fired')).toMatchObject([
      { subscription: 'one', cause: `${host.channel()}/${answer?.relPath ?? ''}` },
      { subscription: 'two' },
      { subscription: 'three' },
    ]);
    // Whoever reads the bus finds one thread.
    const shown = await host.run('thread', asked);
    expect(shown.out.split('\n').filter((line) => line.includes('subscription'))).toHaveLength(6);
  },
);

it('an answer and its task wait in one entry of the outbox, and leave together', async () => {
  const { bus, host } = await world(
    { a: 'echo done', b: 'cat >/dev/null; echo ok' },
    { one: subscription('answer:a', 'b') },
  );
  await host.send('a', 'begin');
  // What is needed is known here, and nothing leaves.
  await host.news();
  bus.unplug();
  const ran = await host.run('dispatch', '--once', '--host', 'front');
  const log = events(ran.err);
  expect(log.filter(({ event }) => event === 'subscription_fired')).toHaveLength(1);
  const waiting = rowsIn(host.state, 'outbox');
  expect(waiting).toHaveLength(1);
  const { commits } = waiting[0] as { commits: { author: { name: string } }[] };
  expect(commits.map(({ author }) => author.name)).toEqual(['a', 'subscription']);
  bus.plug();
  await settle(bus, host);
  expect(tasksOf(bus).map(({ message }) => message.cause)).toEqual([[bus.from('a')[0]?.relPath]]);
  expect([bus.from('a'), bus.from('b')].map((all) => all.length)).toEqual([1, 1]);
});

it('a cycle ends, as a subscription fires once in a chain', async () => {
  const { bus, host } = await world(
    { a: 'echo ping', b: 'echo pong' },
    { there: subscription('answer:a', 'b'), back: subscription('answer:b', 'a') },
  );
  await host.send('a', 'begin');
  await settle(bus, host);
  expect(namesOf(bus)).toEqual(['there', 'back']);
  expect(bus.from('a')).toHaveLength(2);
  // Another chain is another one.
  await host.send('a', 'again');
  await settle(bus, host);
  expect(namesOf(bus)).toEqual(['there', 'back', 'there', 'back']);
});

it('a cycle ends where max_depth says', { tags: 'long' }, async () => {
  const { bus, host } = await world(
    { a: { default: { cli: 'echo ping', max_depth: 4 } }, b: 'echo pong' },
    { there: subscription('answer:a', 'b'), back: subscription('answer:b', 'a') },
  );
  await host.send('a', 'begin');
  const log = await settle(bus, host);
  expect(log.filter(({ event }) => event === 'parked')).toMatchObject([
    { actor: 'a', reason: 'too_deep' },
  ]);
  expect(bus.from('a').filter(({ message }) => message.failed === undefined)).toHaveLength(1);
  // The notice of the failure is no answer, and nothing follows on it.
  expect(namesOf(bus)).toEqual(['there', 'back']);
});

it('of two racing answers one makes a subscription fire that fires once', async () => {
  const bus = new Bus();
  const front = await bus.host('front', { worker: 'echo from front', after: 'cat' });
  const [begun, go] = [join(bus.root, 'begun'), join(bus.root, 'go')];
  const waits = `touch ${begun}; until test -e ${go}; do sleep 0.05; done; echo from back`;
  const back = await bus.host('back', { worker: waits });
  subscribe(front, { single: subscription('answer:worker', 'after', { once: 'true' }) });
  await front.send('worker@front', 'begin');
  await front.send('worker@back', 'begin');
  const slow = back.once();
  await until('the run on the other host', () => existsSync(begun));
  await front.once();
  writeFileSync(go, '');
  const log = await slow;
  // That host could not know of the other answer, and gave the task as well.
  expect(log.filter(({ event }) => event === 'subscription_fired')).toHaveLength(1);
  expect(bus.from('worker')).toHaveLength(2);
  expect(tasksOf(bus).map(({ message }) => message.body)).toEqual(['go on:\n\nfrom front\n']);
  expect((await back.run('status')).out).not.toMatch(/set aside/);
  // Once it is on record, nobody tries.
  await front.send('worker@front', 'again');
  const later = await front.once();
  expect(later.filter(({ event }) => event === 'subscription_fired')).toEqual([]);
  // One that says something else is another one.
  subscribe(front, { single: subscription('answer:worker', 'after', { once: 'true', tier: 'x' }) });
  await front.send('worker@front', 'and again');
  await front.once();
  expect(tasksOf(bus)).toHaveLength(2);
});

it(
  'a failure, a word on the way and a text that answers nobody make nothing fire',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const asks = 'crosstalk send --to nobody "please help" >/dev/null; echo I will report';
    const host = await bus.host('front', {
      broken: { default: { cli: 'exit 3', attempts: 1 } },
      coder: asks,
      writer: 'echo noted',
      helper: 'echo helped',
      after: 'cat',
    });
    host.declare({ nobody: 'true' }, 'away');
    subscribe(host, {
      one: subscription('answer:broken', 'after'),
      two: subscription('answer:coder', 'after'),
      three: subscription('answer:writer', 'after'),
    });
    await host.send('broken', 'fail', '--from', 'anna');
    await host.send('coder', 'ask', '--from', 'anna');
    // Nobody has asked the writer, who is woken by the answer to a question of its own.
    await host.send('helper', 'help', '--from', 'writer');
    await settle(bus, host);
    expect(bus.from('broken')[0]?.message.failed?.reason).toBe('exit_code');
    expect(bus.from('writer').at(-1)?.message.body).toBe('noted\n');
    expect(bus.from('coder').some(({ message }) => message.interim === true)).toBe(true);
    expect(tasksOf(bus)).toEqual([]);
  },
);

it(
  'the text has to match, the channel and the host are those of the file, and broken files are said',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world(
      { a: 'cat >/dev/null; echo the build is RED', b: 'cat' },
      {
        word: subscription('answer:a', 'b', { match: 'red' }),
        pattern: subscription('answer:a', 'b', { match: "'/\\bgreen$/'" }),
        elsewhere: subscription('answer:a', 'b', { host: 'back' }),
        paused: subscription('answer:a', 'b', { enabled: 'false' }),
        ops: subscription('answer:a', 'b', { channel: 'ops' }),
        nowhere: subscription('answer:a', 'b', { channel: 'missing' }),
        broken: subscription('answer:a', 'b', { once: 'maybe' }),
        huge: `${subscription('answer:a', 'b')}${'x'.repeat(33_000)}`,
      },
    );
    const made = await host.run('channel', 'create', 'ops');
    const ops = made.out.trim().split('\n').at(-1);
    await host.send('a', 'begin', '--channel', 'general');
    const log = await settle(bus, host);
    const [answer] = bus.from('a');
    expect(
      tasksOf(bus)
        .map(({ channel, message }) => [message.extra['subscription'], channel])
        .sort(),
    ).toEqual([
      ['ops', ops],
      ['word', host.channel()],
    ]);
    const inOps = tasksOf(bus).find(({ channel }) => channel === ops);
    expect(inOps?.message.origin).toEqual([`${host.channel()}/${answer?.relPath ?? ''}`]);
    const invalid = log.filter(({ event }) => event === 'subscription_invalid');
    expect(new Set(invalid.map(({ reason }) => reason))).toEqual(
      new Set([
        'line 4: once is "maybe", expected true or false',
        'there is no channel "missing"',
        expect.stringMatching(/^it has 33\d{3} bytes, expected at most 32768$/),
      ]),
    );
  },
);

it(
  'a subscription that names a host fires there on answers of others that arrive after it, once',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { a: 'echo from a' });
    const back = await bus.host('back', { b: 'cat >/dev/null; echo ok' });
    await front.send('a', 'before');
    await front.once();
    subscribe(front, { one: subscription('answer:a', 'b', { host: 'back' }) });
    await back.once();
    expect(tasksOf(bus)).toEqual([]);
    await front.send('a', 'after');
    await front.once();
    expect(tasksOf(bus)).toEqual([]);
    const log = await back.once();
    expect(log.filter(({ event }) => event === 'subscription_fired')).toHaveLength(1);
    await back.once();
    const answer = bus.from('a').at(-1);
    expect(tasksOf(bus).map(({ message }) => [message.host, message.cause])).toEqual([
      ['back', [answer?.relPath]],
    ]);
    expect(bus.from('b')).toHaveLength(1);
    // As after a crash before it was recorded: the same tasks are made, and left out.
    const { names } = cellIn(back.state, 'subscriptions') as { names: string[] };
    const begin = git(bus.hub, 'rev-list', '--max-parents=0', 'main').trim();
    const is = { until: begin, names: [...names, 'gone'] };
    putRow(back.state, 'subscriptions', { id: '', is });
    await back.once();
    expect(tasksOf(bus).filter(({ message }) => message.cause[0] === answer?.relPath)).toHaveLength(
      1,
    );
    expect((await back.run('status')).out).not.toMatch(/set aside|kept aside/);
  },
);

it('is paused and goes on also where the lines of its file end as on Windows', async () => {
  const host = await new Bus().host('front', { a: 'echo from a' });
  const lines = ['---', 'source: answer:a', 'to: a', 'from: anna', 'enabled: true', '---', 'look'];
  host.edit({ 'local/subscriptions/next.md': `${lines.join('\r\n')}\r\n` });
  for (const [enabled, ...options] of [[false], [true, '--off']] as const) {
    expect(await host.run('subscription', 'pause', 'next', ...options)).toMatchObject({ code: 0 });
    const { out } = await host.run('subscription', 'list', '--json');
    expect(JSON.parse(out)).toMatchObject([{ name: 'next', enabled }]);
  }
});

it('is added, listed, paused and removed by commands, which say what is wrong', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { a: 'echo from a', b: 'cat >/dev/null; echo ok' });
  const out = async (...argv: string[]): Promise<string> => {
    const ran = await host.run('subscription', ...argv);
    expect(ran.code, ran.err).toBe(0);
    return ran.out;
  };
  const add = ['add', 'next', '--source', 'answer:a', '--to', 'b'];
  expect(await out(...add, '--match', '/from/i', 'look:')).toBe(
    'Subscribed: next (local/subscriptions/next.md)\n',
  );
  const listed = { name: 'next', source: 'answer:a', to: 'b', match: '/from/i', enabled: true };
  expect(JSON.parse(await out('list', '--json'))).toMatchObject([listed]);
  await out('pause', 'next');
  expect(await out('list')).toMatch(/next +answer:a +b +\/from\/i +- +paused/);
  await host.send('a', 'one');
  await settle(bus, host);
  expect(tasksOf(bus)).toEqual([]);
  await out('pause', 'next', '--off');
  const asked = await host.send('a', 'two', '--from', 'anna');
  await settle(bus, host);
  const [task] = tasksOf(bus);
  const explained = await host.run('explain', task?.relPath ?? '', 'b');
  expect(explained.out).toContain(
    `\n  given by subscription next, following on ${bus.from('a').at(-1)?.relPath ?? ''}\n`,
  );
  const thread = await host.run('thread', asked);
  expect(thread.out).toMatch(/operator → b .*by next/);
  const again = await host.run('subscription', ...add, 'x');
  expect(again.err).toMatch(/there is a subscription next already/);
  const wrong = await host.run(
    'subscription',
    'add',
    'x',
    '--source',
    'a',
    '--to',
    'b',
    '--match',
    '/(/',
  );
  expect([wrong.code, wrong.err]).toEqual([
    2,
    'crosstalk subscription add: this is no subscription: source is "a", expected answer:<actor> or event:<name>\n',
  ]);
  expect(await out('remove', 'next')).toBe('Removed: next (local/subscriptions/next.md)\n');
  const gone = await host.run('subscription', 'show', 'next');
  expect([gone.code, gone.err]).toEqual([
    1,
    'crosstalk subscription show: no subscription "next"; make one with: crosstalk subscription add "next"\n',
  ]);
});

it('answers to the tasks of a subscription reach whoever added it, and the tasks are unread for nobody', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { coder: 'echo from coder', reviewer: 'echo reviewed' });
  const added = await host.runWith(
    { login: 'anna' },
    ...['subscription', 'add', 'review', '--source', 'answer:coder', '--to', 'reviewer'],
    ...['Review what was done:'],
  );
  expect([added.code, added.err]).toEqual([0, '']);
  const named = await host.run(
    ...['subscription', 'add', 'tell', '--source', 'answer:reviewer', '--to', 'revewer'],
    ...['--from', 'bob', 'look'],
  );
  expect(named.code).toBe(0);
  expect(named.err).toContain('crosstalk subscription add: no host serves revewer');
  await host.send('coder', 'begin', '--from', 'carol');
  await settle(bus, host);
  const unread = async (name: string): Promise<string[]> => {
    const ran = await host.run('inbox', '--json', '--from', name);
    const rows = ran.out.split('\n').filter((line) => line !== '');
    return rows
      .map((line) => JSON.parse(line) as { body: string; unread: boolean })
      .flatMap((row) => (row.unread ? [row.body] : []));
  };
  expect(await unread('anna')).toEqual(['reviewed\n']);
  expect(tasksOf(bus).map(({ message }) => message.from)).toEqual(['anna', 'bob']);
  expect(await unread('carol')).toEqual(['from coder\n']);
  expect(await unread('somebody')).toEqual([]);
});
