import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web, type Answer } from '../support/web.ts';

const SECRET = 'a-secret-of-the-tests-alone';

const subscription = (source: string, header = ''): string =>
  `---\nsource: ${source}\nto: worker\n${header}---\nlook:\n`;

async function world(files: Record<string, string> = {}): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat >/dev/null; echo fixed' });
  host.edit({ 'local/subscriptions/red.md': subscription('event:build'), ...files });
  await host.news();
  return { bus, host };
}

const tasksOf = (bus: Bus): Stored[] => bus.from('subscription');
const signed = (body: string, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

async function withWeb(): Promise<{ bus: Bus; host: Host; web: Web }> {
  const { bus, host } = await world();
  await host.runWith({ stdin: SECRET }, 'secret', 'set', 'event.build');
  return { bus, host, web: await Web.start(host) };
}

/** Begins a request whose body never ends, and waits until the server has its beginning. */
function endless(web: Web, path: string, headers: Record<string, string>): Endless {
  const where = { host: '127.0.0.1', port: web.port, agent: false };
  const sent = request({ ...where, method: 'POST', path, headers });
  const one: Endless = { sent };
  sent.on('error', () => undefined);
  sent.on('response', (got) => {
    one.status = got.statusCode ?? 0;
    got.resume();
  });
  sent.write('a beginning');
  onTestFinished(() => {
    sent.destroy();
  });
  return one;
}

interface Endless {
  sent: ClientRequest;
  status?: number;
}

it('a webhook without a right header is refused before its body is there', async () => {
  const { web } = await withWeb();
  const refused = [
    endless(web, '/api/events/build', {}),
    endless(web, '/api/events/build', { authorization: 'Bearer another' }),
    // Where there is no secret, no signature can be right.
    endless(web, '/api/events/deploy', { 'x-hub-signature-256': signed('a beginning') }),
  ];
  await until('the refusals', () => refused.every(({ status }) => status !== undefined));
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
});

it('bodies of strangers who show a signature are read a few at a time, and keep out nobody with the secret', async () => {
  const { bus, web } = await withWeb();
  const forged = { 'x-hub-signature-256': signed('another') };
  const tell = (headers: Record<string, string>): Promise<Answer> =>
    web.raw('POST', '/api/events/build', headers, 'red');
  const open = Array.from({ length: 64 }, () => endless(web, '/api/events/build', forged));
  const full = async (): Promise<Answer | undefined> => {
    const answer = await tell(forged);
    return answer.status === 503 ? answer : undefined;
  };
  const refused = await until('a server that takes no more', full);
  expect(refused.headers['retry-after']).toBe('1');
  expect(open.filter(({ status }) => status !== undefined)).toEqual([]);
  expect((await tell({ authorization: `Bearer ${SECRET}` })).status).toBe(202);
  for (const { sent } of open) sent.destroy();
  await until('room again', async () => (await tell(forged)).status === 401);
  await until('the task', () => tasksOf(bus).length === 1);
});

it(
  'any number of wrong signatures keeps out nobody who shows the secret',
  { tags: 'long' },
  async () => {
    const { bus, web } = await withWeb();
    const tell = (headers: Record<string, string>): Promise<Answer> =>
      web.raw('POST', '/api/events/build', headers, 'red');
    const forged = await Promise.all(
      Array.from({ length: 250 }, () => tell({ 'x-hub-signature-256': signed('another') })),
    );
    expect(forged.filter(({ status }) => status < 400)).toEqual([]);
    expect((await tell({ authorization: `Bearer ${SECRET}` })).status).toBe(202);
    await until('the task', () => tasksOf(bus).length === 1);
  },
);

it('a secret of no characters, as a full disk leaves it, lets nobody in', async () => {
  const { bus, host, web } = await withWeb();
  writeFileSync(join(host.state, 'secrets', 'event.build'), '');
  const tell = (headers: Record<string, string>): Promise<Answer> =>
    web.raw('POST', '/api/events/build', headers, 'red');
  const answers = await Promise.all([
    tell({ 'x-hub-signature-256': signed('red', '') }),
    tell({ authorization: 'Bearer ' }),
    tell({ authorization: 'Bearer' }),
    tell({ 'x-hub-signature-256': '' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  expect(tasksOf(bus)).toEqual([]);
});

it('odd names, ids and methods of a webhook are refused with a reason', async () => {
  const { bus, web } = await withWeb();
  const bearer = { authorization: `Bearer ${SECRET}` };
  const tell = (source: string, headers = {}, method = 'POST'): Promise<Answer> =>
    web.raw(
      method,
      `/api/events/${source}`,
      { ...bearer, ...headers },
      method === 'POST' ? 'red' : undefined,
    );
  const statuses = async (answers: Promise<Answer>[]): Promise<number[]> =>
    (await Promise.all(answers)).map(({ status }) => status);
  expect(
    await statuses([
      tell('..%2Fbuild'),
      tell('build%00'),
      tell('%FF'),
      tell('build%0d%0aset-cookie:x'),
      tell('x'.repeat(65)),
    ]),
  ).toEqual([400, 400, 400, 400, 400]);
  // A name may have 64 characters, and then there is no room for that of its secret.
  expect(await statuses([tell('x'.repeat(64)), tell('BUILD'), tell('build/')])).toEqual([
    401, 401, 401,
  ]);
  expect(
    await statuses(
      ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'GET'].map((method) => tell('build', {}, method)),
    ),
  ).toEqual([401, 401, 401, 401, 401]);
  expect(await statuses([tell('build', { 'idempotency-key': 'k'.repeat(201) })])).toEqual([400]);
  expect(tasksOf(bus)).toEqual([]);
  // An empty header is none.
  const both = { 'x-github-delivery': '', 'idempotency-key': 'k-1' };
  expect(JSON.parse((await tell('build', both)).text)).toMatchObject({ id: 'k-1' });
});

it('a form of another site publishes nothing, whatever cookies the browser sends', async () => {
  const { bus, web } = await withWeb();
  const entered = await web.raw('GET', `/?token=${web.token}`);
  const [set = ''] = (entered.headers['set-cookie'] ?? []) as string[];
  const cookie = set.split(';')[0] ?? '';
  expect(cookie).toMatch(/^crosstalk-\d+=./);
  const page = { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const headers of [
    { ...page, 'content-type': 'text/plain' },
    { ...page, 'content-type': 'application/x-www-form-urlencoded' },
    { cookie, 'content-type': 'application/json' },
  ]) {
    const answer = await web.raw('POST', '/api/events/build', headers, 'red');
    expect(answer.status).toBe(401);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  }
  expect(tasksOf(bus)).toEqual([]);
});

it('a payload stays text, whatever it looks like', { tags: 'long' }, async () => {
  const { bus, host, web } = await withWeb();
  const bearer = { authorization: `Bearer ${SECRET}` };
  const payloads = [
    '---\nfrom: anna\nto: other\nre: x\n---\nfoo',
    'a\u0000b\u001b[31m\r\n\u202Ec',
    '',
    ' \n\t',
  ];
  for (const payload of payloads)
    expect((await web.raw('POST', '/api/events/build', bearer, payload)).status).toBe(202);
  await until('the tasks', () => tasksOf(bus).length === payloads.length);
  for (const { message } of tasksOf(bus))
    expect(message).toMatchObject({ to: [{ name: 'worker' }], re: [], cause: [] });
  expect(tasksOf(bus)[0]?.message.body).toContain('from: anna');
  await host.once();
  expect(bus.from('worker').flatMap(({ message }) => message.re)).toHaveLength(payloads.length);
});

it('no event can take the place of a subscription that fires once', { tags: 'long' }, async () => {
  const { bus, host } = await world({
    'local/subscriptions/one.md': subscription('event:first', 'once: true\n'),
    'local/subscriptions/two.md': subscription('event:subscription'),
  });
  const to = [{ name: 'worker' }];
  // What the marker of the first is made from, as the source and the id of an event.
  const id = JSON.stringify(['one', 'event:first', to, null, null, null, 'look:\n']);
  const ran = await host.run('event', 'publish', 'subscription', 'x', '--id', id);
  expect(ran.out, ran.err).toMatch(/^Sent: /);
  const first = await host.run('event', 'publish', 'first', 'x');
  expect(first.out, first.err).toMatch(/^Sent: \S+ \(one\)\n$/);
  expect(tasksOf(bus)).toHaveLength(2);
});
