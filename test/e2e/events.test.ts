import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventMarker } from '../../src/bus/automation/happened.ts';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';
import { Web, type Answer } from '../support/web.ts';

const SECRET = 'a-secret-of-the-tests-alone';

function subscription(header: Record<string, string> = {}): string {
  const lines = Object.entries({ source: 'event:build', to: 'worker', ...header });
  return `---\n${lines.map(([key, value]) => `${key}: ${value}`).join('\n')}\n---\nlook:\n`;
}

async function world(header: Record<string, string> = {}): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat >/dev/null; echo fixed' });
  host.edit({ 'local/subscriptions/red.md': subscription(header) });
  await host.news();
  return { bus, host };
}

const tasksOf = (bus: Bus): Stored[] => bus.from('subscription');

async function published(host: Host, ...argv: string[]): Promise<{ state: string }> {
  const ran = await host.run('event', 'publish', ...argv, '--json');
  expect(ran.code, ran.err).toBe(0);
  return JSON.parse(ran.out) as { state: string };
}

it(
  'an event becomes the task of each subscription to it, with the payload, and is worked on',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ match: 'red' });
    host.edit({
      'local/subscriptions/other.md': subscription({ source: 'event:deploy' }),
      'local/subscriptions/paused.md': subscription({ enabled: 'false' }),
    });
    expect(await published(host, 'build', 'all is green')).toMatchObject({ state: 'unheard' });
    const piped = await host.runWith(
      { stdin: 'the build is RED\n' },
      'event',
      'publish',
      'build',
      '-',
    );
    expect(piped.out).toMatch(/^Sent: \S+\.md \(red\)\n$/);
    await host.once();
    const [task, ...more] = tasksOf(bus);
    expect(more).toEqual([]);
    expect(task?.message).toMatchObject({
      to: [{ name: 'worker' }],
      re: [],
      cause: [],
      extra: { subscription: 'red', event: 'build' },
      body: 'look:\n\nthe build is RED\n',
    });
    expect(bus.from('worker')[0]?.message.re).toEqual([task?.relPath]);
    const explained = await host.run('explain', task?.relPath ?? '', 'worker');
    expect(explained.out).toMatch(
      /\n {2}given by subscription red, following on the event build\n/,
    );
  },
);

it('an event with an id is one, on whatever machine it is published, and also at the same time', async () => {
  const { bus, host: front } = await world();
  const back = await bus.host('back', { other: 'true' });
  expect(await published(front, 'build', 'one', '--id', '4711')).toMatchObject({ state: 'sent' });
  expect(await published(front, 'build', 'one', '--id', '4711')).toMatchObject({
    state: 'duplicate',
  });
  expect(await published(back, 'build', 'one', '--id', '4711')).toMatchObject({
    state: 'duplicate',
  });
  const both = await Promise.all([
    published(front, 'build', 'two', '--id', '4712'),
    published(back, 'build', 'two', '--id', '4712'),
  ]);
  expect(both.map(({ state }) => state).sort()).toEqual(['duplicate', 'sent']);
  expect(tasksOf(bus)).toHaveLength(2);
  expect(git(bus.hub, 'show', `main:${eventMarker('build', '4711')}`)).toBe('event build\n');
  // Another source has ids of its own, and without an id each one counts.
  front.edit({ 'local/subscriptions/deploy.md': subscription({ source: 'event:deploy' }) });
  expect(await published(front, 'deploy', 'x', '--id', '4711')).toMatchObject({ state: 'sent' });
  await published(front, 'build', 'x');
  await published(front, 'build', 'x');
  expect(tasksOf(bus)).toHaveLength(5);
  // The loser of a race has nothing to look at.
  for (const host of [front, back])
    expect((await host.run('status')).out).not.toMatch(/kept aside/);
});

it(
  'an event that cannot be published says why, and one to a once-only subscription fires once',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world({ once: 'true' });
    await published(host, 'build', 'a');
    expect(await published(host, 'build', 'b')).toMatchObject({ state: 'unheard' });
    expect(tasksOf(bus)).toHaveLength(1);
    for (const [argv, said] of [
      [['no name', 'x'], '"no name" is no name of an event'],
      [['build', 'x', '--id', 'a\nb'], 'the id is "a b", expected a text on one line'],
      [
        ['build', 'x'.repeat(1024 * 1024 + 1)],
        'the payload has 1048577 bytes, expected at most 1 MiB',
      ],
    ] as const) {
      const ran = await host.run('event', 'publish', ...argv);
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(said)]);
    }
  },
);

it('secrets are kept for this user alone, and neither shown nor written anywhere else', async () => {
  const { bus, host } = await world();
  const set = await host.runWith({ stdin: `${SECRET}\n` }, 'secret', 'set', 'event.build');
  expect([set.code, set.out]).toEqual([0, 'Set: event.build\n']);
  const file = join(host.state, 'secrets', 'event.build');
  expect(readFileSync(file, 'utf8')).toBe(SECRET);
  expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
  const shown = await Promise.all(
    [
      ['secret', 'list', '--json'],
      ['status', '--json'],
      ['doctor', '--json'],
    ].map((argv) => host.run(...argv)),
  );
  expect(JSON.parse(shown[0]?.out ?? '')).toEqual(['event.build']);
  for (const { out, err } of shown) expect(out + err).not.toContain(SECRET);
  expect(git(bus.hub, 'log', '-p', 'main')).not.toContain(SECRET);
  const lacking = await host.run('secret', 'set', 'event.build');
  expect(lacking.code).toBe(2);
  const empty = await host.runWith({ stdin: '\n' }, 'secret', 'set', 'event.build');
  expect(empty.err).toContain('the value of event.build is empty');
  const bad = await host.runWith({ stdin: SECRET }, 'secret', 'set', '../../x');
  expect(bad.err).toMatch(/"\.\.\/\.\.\/x" is no name for a secret/);
  expect(bad.err).not.toContain(SECRET);
  expect((await host.run('secret', 'remove', 'event.build')).out).toBe('Removed: event.build\n');
  expect((await host.run('secret', 'remove', 'event.build')).code).toBe(1);
  expect(readdirSync(join(host.state, 'secrets'))).toEqual([]);
});

const signed = (body: string, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

async function withWeb(
  ...options: string[]
): Promise<{ bus: Bus; host: Host; tell: Tell; web: Web }> {
  const { bus, host } = await world();
  await host.runWith({ stdin: SECRET }, 'secret', 'set', 'event.build');
  const web = await Web.start(host, ...options);
  const tell: Tell = (headers, body, source = 'build') =>
    web.raw('POST', `/api/events/${source}`, headers, body);
  return { bus, host, tell, web };
}

type Tell = (headers: Record<string, string>, body: string, source?: string) => Promise<Answer>;

it('a webhook gives a task for a good signature, and nothing for a bad one or none', async () => {
  const { bus, tell, web } = await withWeb();
  const body = '{"state":"red"}';
  const wrong = await Promise.all([
    tell({}, body),
    tell({ 'x-hub-signature-256': signed(body, 'another') }, body),
    tell({ 'x-hub-signature-256': signed(`${body} `) }, body),
    tell({ 'x-hub-signature-256': 'sha256=' }, body),
    tell({ authorization: 'Bearer another' }, body),
    // The secret is for one event alone.
    tell({ 'x-hub-signature-256': signed(body) }, body, 'deploy'),
    tell({ authorization: `Bearer ${SECRET}` }, body, 'deploy'),
  ]);
  expect(wrong.map(({ status }) => status)).toEqual(wrong.map(() => 401));
  for (const { text } of wrong) expect(text).not.toContain(SECRET);
  const cookie = { cookie: `crosstalk-${String(web.port)}=x`, origin: 'https://evil.example' };
  expect((await tell(cookie, body)).status).toBe(401);
  const good = await tell(
    { 'x-hub-signature-256': signed(body), 'x-github-delivery': 'd-1' },
    body,
  );
  expect([good.status, JSON.parse(good.text)]).toMatchObject([
    202,
    { source: 'build', id: 'd-1', state: 'queued', tasks: [{ subscription: 'red' }] },
  ]);
  await until('the task', () => tasksOf(bus).length === 1);
  expect(tasksOf(bus)[0]?.message.body).toBe(`look:\n\n${body}`);
});

it('a webhook that is replayed counts once, with an id and without one', async () => {
  const { bus, tell, web } = await withWeb();
  const again = async (headers: Record<string, string>, body: string): Promise<unknown> =>
    (JSON.parse((await tell(headers, body)).text) as { state: string }).state;
  const one = { 'x-hub-signature-256': signed('one'), 'x-github-delivery': 'd-1' };
  await tell(one, 'one');
  await until('the first task', () => tasksOf(bus).length === 1);
  expect(await again(one, 'one')).toBe('duplicate');
  const two = { 'x-hub-signature-256': signed('two') };
  await tell(two, 'two');
  await until('the second task', () => tasksOf(bus).length === 2);
  expect(await again(two, 'two')).toBe('duplicate');
  const three = { ...web.bearer(), 'idempotency-key': 'k-1' };
  await Promise.all([tell(three, 'three'), tell(three, 'three'), tell(three, 'three')]);
  await until('the third task', () => tasksOf(bus).length === 3);
  expect(await again(three, 'three')).toBe('duplicate');
  expect(tasksOf(bus)).toHaveLength(3);
});

it('a webhook may bring 1 MiB and no more, and has to be text', async () => {
  const { bus, tell } = await withWeb();
  const bearer = { authorization: `Bearer ${SECRET}` };
  const most = 'x'.repeat(1024 * 1024);
  expect((await tell(bearer, most)).status).toBe(202);
  await until('the task', () => tasksOf(bus).length === 1);
  expect(tasksOf(bus)[0]?.message.body).toMatch(
    /x\n\n\(cut here: the whole has 1048583 bytes\)\n$/,
  );
  expect((await tell(bearer, `${most}x`)).status).toBe(413);
  const chunked = { ...bearer, 'transfer-encoding': 'chunked' };
  expect((await tell(chunked, `${most}x`)).status).toBe(413);
  expect(tasksOf(bus)).toHaveLength(1);
});

it(
  'a server that only reads takes no events, and no more than 100 a second come in',
  { tags: 'slow' },
  async () => {
    const reading = await withWeb('--read-only');
    const bearer = { authorization: `Bearer ${SECRET}` };
    expect((await reading.tell(bearer, 'x')).status).toBe(403);
    const { tell, bus } = await withWeb();
    const begun = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        tell({ ...bearer, 'idempotency-key': String(at) }, 'x'),
      ),
    );
    const seconds = (performance.now() - begun) / 1000;
    const taken = answers.filter(({ status }) => status === 202).length;
    const refused = answers.filter(({ status }) => status === 429);
    expect(taken + refused.length).toBe(300);
    expect(taken).toBeGreaterThanOrEqual(100);
    expect(taken).toBeLessThanOrEqual(100 * Math.ceil(seconds + 1));
    for (const { headers } of refused) expect(headers['retry-after']).toBe('1');
    // What was taken is not lost.
    await until('all tasks', () => tasksOf(bus).length === taken);
  },
);
