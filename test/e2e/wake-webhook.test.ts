import { createHmac } from 'node:crypto';
import { request, type ClientRequest } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { Wakes } from '../../src/web/parts.ts';
import { Bus, type Host, type Running } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web, type Answer } from '../support/web.ts';

const SECRET = 'a-secret-of-the-tests-alone';
const PUSH = JSON.stringify({ ref: 'refs/heads/main', commits: [] });

const hex = (body: string, secret: string | Buffer = SECRET): string =>
  createHmac('sha256', secret).update(body).digest('hex');

/** A machine that would poll tomorrow, with the page's server. */
async function world(secret = SECRET): Promise<{ host: Host; running: Running; web: Web }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat >/dev/null; echo fixed' });
  if (secret !== '') await host.runWith({ stdin: secret }, 'secret', 'set', 'wake');
  const running = host.start('--interval', '1d');
  await running.saw('host_file_loaded');
  return { host, running, web: await Web.start(host) };
}

const tell = (web: Web, headers: Record<string, string>, body = PUSH): Promise<Answer> =>
  web.raw('POST', '/api/wake', headers, body);

/** What GitLab sends with the key of a signing token. */
function gitlab(key: Buffer, body = PUSH): Record<string, string> {
  const [id, at] = ['msg_1', '1767225600'];
  const made = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': `v1,${'A'.repeat(43)}= v1,${made}`,
  };
}

it.each([
  ['GitHub', { 'x-hub-signature-256': `sha256=${hex(PUSH)}`, 'x-github-event': 'push' }],
  ['Gitea', { 'x-gitea-signature': hex(PUSH), 'x-gitea-event': 'push' }],
  ['Forgejo', { 'x-forgejo-signature': hex(PUSH), 'x-gitea-signature': hex(PUSH) }],
  ['GitLab with its token', { 'x-gitlab-token': SECRET, 'x-gitlab-event': 'Push Hook' }],
  ['GitLab with its signature', gitlab(Buffer.from(SECRET))],
] as [string, Record<string, string>][])(
  'a push webhook of %s wakes the dispatcher, which fetches',
  { tags: 'long' },
  async (_, headers) => {
    const { running, web } = await world();
    const before = running.count('woken');
    const { status, text } = await tell(web, headers);
    expect([status, JSON.parse(text)]).toEqual([200, { pid: process.pid }]);
    await until('a fetch', () => {
      const at = running.events.findIndex(({ event }) => event === 'woken');
      return running.events.slice(at).some(({ fetch_ms: ms }) => ms !== undefined);
    });
    expect(running.count('woken')).toBe(before + 1);
  },
);

it('the signing token of GitLab is a key in base64', async () => {
  const key = Buffer.alloc(32, 7);
  const { web } = await world(`whsec_${key.toString('base64')}`);
  expect((await tell(web, gitlab(key))).status).toBe(200);
  expect((await tell(web, gitlab(Buffer.alloc(32, 8)))).status).toBe(401);
});

it(
  'whoever shows a wrong secret or signature, or one where this machine has no secret, wakes nobody',
  { tags: 'long' },
  async () => {
    const { host, running, web } = await world();
    const wrong: Record<string, string>[] = [
      { 'x-hub-signature-256': `sha256=${hex(PUSH, 'another')}` },
      { 'x-hub-signature-256': hex(`${PUSH} `) },
      { 'x-hub-signature-256': '' },
      { 'x-hub-signature-256': 'sha256=', ...web.bearer() },
      { 'x-gitea-signature': '0'.repeat(64) },
      { 'x-gitlab-token': 'another' },
      { 'x-gitlab-token': '' },
      gitlab(Buffer.from('another')),
      { ...gitlab(Buffer.from(SECRET)), 'webhook-id': 'msg_2' },
      { authorization: `Bearer ${SECRET}` },
      {},
    ];
    for (const headers of wrong)
      expect([headers, (await tell(web, headers)).status]).toEqual([headers, 401]);
    await host.run('secret', 'remove', 'wake');
    for (const headers of [
      { 'x-hub-signature-256': `sha256=${hex(PUSH)}` },
      { 'x-hub-signature-256': `sha256=${hex(PUSH, '')}` },
      { 'x-gitlab-token': '' },
    ])
      expect((await tell(web, headers)).status).toBe(401);
    expect(running.count('woken')).toBe(0);
  },
);

/** Begins a request whose body never ends. */
function endless(
  web: Web,
  headers: Record<string, string>,
): { sent: ClientRequest; status?: number } {
  const where = { host: '127.0.0.1', port: web.port, agent: false };
  const sent = request({ ...where, method: 'POST', path: '/api/wake', headers });
  const one: { sent: ClientRequest; status?: number } = { sent };
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

it(
  'no body is read before a request shows a signature that could be right, and few are read at a time',
  { tags: 'long' },
  async () => {
    const { host, web } = await world('');
    const forged = { 'x-hub-signature-256': `sha256=${hex('another')}` };
    const early = [
      endless(web, forged),
      endless(web, { 'x-gitlab-token': 'no' }),
      endless(web, {}),
    ];
    await until('the refusals', () => early.every(({ status }) => status !== undefined));
    expect(early.map(({ status }) => status)).toEqual([401, 401, 401]);

    await host.runWith({ stdin: SECRET }, 'secret', 'set', 'wake');
    const open = Array.from({ length: 64 }, () => endless(web, forged));
    const full = async (): Promise<boolean> => (await tell(web, forged)).status === 503;
    await until('a server that takes no more', full);
    expect(open.filter(({ status }) => status !== undefined)).toEqual([]);
    // Whoever shows the secret is not kept out, and reads no body.
    expect((await tell(web, { 'x-gitlab-token': SECRET })).status).toBe(200);
  },
);

it(
  'many webhooks wake the dispatcher once a second, and all are answered',
  { tags: 'long' },
  async () => {
    const { running, web } = await world();
    const begun = performance.now();
    const told = Array.from({ length: 50 }, () => tell(web, { 'x-gitlab-token': SECRET }));
    const statuses = (await Promise.all(told)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const seconds = (performance.now() - begun) / 1000;
    expect(running.count('woken')).toBeLessThanOrEqual(seconds + 2);
  },
);

it('a look that webhooks share is one that begins after them', async () => {
  let [now, looks] = [0, 0];
  const wakes = new Wakes(() => now);
  const look = (): Promise<number> => Promise.resolve(++looks);
  const first = wakes.once(look);
  expect(wakes.once(look)).toBe(first);
  expect(await first).toBe(1);
  now = 1000;
  expect(await wakes.once(look)).toBe(2);
});
