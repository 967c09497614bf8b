import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ulid } from 'ulid';
import { beforeEach, expect, it } from 'vitest';
import type { Right } from '../../src/actions/page/web-tokens.ts';
import { RIGHT_OF } from '../../src/web/rights.ts';
import { routes } from '../../src/web/routes.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

let bus: Bus;
let host: Host;
let web: Web;
beforeEach(async () => {
  bus = new Bus();
  host = await bus.host('front', {});
  web = await Web.start(host);
});

interface Made {
  id: string;
  token: string;
  until: string;
}

/** Makes a token as the operator does, and returns it. */
async function add(...options: string[]): Promise<Made> {
  const ran = await host.run('web', 'token', 'add', '--json', ...options);
  if (ran.code !== 0) throw new Error(ran.err);
  return JSON.parse(ran.out) as Made;
}

const bearer = ({ token }: Made): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The status of an answer, and the code of its refusal. */
async function asked(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<[number, string | undefined]> {
  const { status, text } = await web.raw(method, path, headers, body);
  const code = /"code": ?"(\w+)"/.exec(text)?.[1];
  return [status, code];
}

it('a token of a person writes under that name, and under no other', async () => {
  const anna = await add('--as', 'anna', '--rights', 'read,write');
  const send = (body: object): Promise<[number, string | undefined]> =>
    asked('POST', '/api/send', { ...bearer(anna), ...JSON_TYPE }, JSON.stringify(body));
  expect(await send({ to: 'ben', body: 'hello' })).toEqual([202, undefined]);
  expect(await send({ to: 'ben', body: 'hello', from: 'carl' })).toEqual([409, 'refused']);
  expect(await send({ to: 'ben', body: 'again', from: 'anna' })).toEqual([202, undefined]);
  await expect.poll(() => bus.messages().length, { timeout: 60_000 }).toBe(2);
  expect(bus.messages().map(({ message }) => message.from)).toEqual(['anna', 'anna']);
  const session = await web.raw('GET', '/api/session', bearer(anna));
  expect(JSON.parse(session.text)).toMatchObject({
    from: 'anna',
    read_only: false,
    may_decide: false,
  });
  const own = await web.raw('GET', '/api/session', web.bearer());
  expect(JSON.parse(own.text)).toMatchObject({ from: 'operator', may_decide: true });
});

it('two people who give the same key write two messages', async () => {
  const key = ulid();
  const headers = { ...JSON_TYPE, 'idempotency-key': key };
  const people = [await add('--as', 'anna'), await add('--as', 'ben')];
  const sent = await Promise.all(
    [...people, ...people].map(async (made) => {
      const body = JSON.stringify({ to: 'carl', body: 'hello' });
      const { text } = await web.raw('POST', '/api/send', { ...bearer(made), ...headers }, body);
      return JSON.parse(text) as { from: string; messages: { relPath: string }[] };
    }),
  );
  const places = sent.map(({ from, messages }) => [from, messages[0]?.relPath]);
  expect(places.slice(2)).toEqual(places.slice(0, 2));
  expect(new Set(places.map(([, place]) => place)).size).toBe(2);
  await expect.poll(() => bus.messages().length, { timeout: 60_000 }).toBe(2);
  const onBus = bus.messages().map(({ relPath, message }) => [message.from, relPath]);
  expect(onBus.sort()).toEqual(places.slice(0, 2).sort());
});

it(
  'no run makes a token, approves a command or pins a key, whatever it leaves out of its environment',
  { tags: 'long' },
  async () => {
    const program = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
    const log = join(bus.root, 'tries');
    const bare = `env -i HOME="$HOME" PATH=/usr/bin:/bin CROSSTALK_STATE_DIR=${host.state} CROSSTALK_TRANSPORT=${host.dir} ${process.execPath} ${program}`;
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMbl+kc0A8+W3Hw/Y1v49SqrJP99QiuRwuGnsGtvKOsq';
    const tries = [
      'crosstalk web token add --as anna --rights decide',
      `${bare} web token add --as anna --rights decide`,
      `${bare} host approve 1f2e3d4c5b6a`,
      `${bare} key pin anna '${key}' --yes`,
    ].map((one) => `{ ${one}; } >> ${log} 2>&1; echo "code $?" >> ${log}`);
    writeFileSync(join(bus.root, 'tries.sh'), `cat > /dev/null\n${tries.join('\n')}\necho done\n`);
    host.declare({ builder: `sh ${join(bus.root, 'tries.sh')}` });
    await host.approve();
    await host.send('builder', 'do it');
    await host.once();
    const said = readFileSync(log, 'utf8');
    expect(said.match(/not for a run/g), said).toHaveLength(4);
    expect(said.match(/^code [12]$/gm), said).toHaveLength(4);
    expect(JSON.parse((await host.run('web', 'token', 'list', '--json')).out)).toEqual([]);
  },
);

it('a token in an address lets the browser in, with a cookie from which nobody makes another', async () => {
  const anna = await add('--as', 'anna');
  const entered = await web.raw('GET', `/?token=${anna.token}`);
  const cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
  expect(cookie).not.toContain(anna.token.slice(9));
  const session = await web.raw('GET', '/api/session', { cookie });
  expect(JSON.parse(session.text)).toMatchObject({ from: 'anna' });
  // A link with it does not take over the window of the operator.
  const own = await web.raw('GET', new URL(web.url).pathname + new URL(web.url).search);
  const both = `${cookie}; ${String(own.headers['set-cookie']).split(';')[0] ?? ''}`;
  const operator = await web.raw('GET', '/api/session', { cookie: both });
  expect(JSON.parse(operator.text)).toMatchObject({ from: 'operator' });
  const wrong = [
    `${cookie}x`,
    cookie.replace(anna.id, '00000000'),
    cookie.replace(`${anna.id}.`, ''),
  ];
  for (const one of wrong)
    expect((await web.raw('GET', '/api/session', { cookie: one })).status).toBe(401);
});

it('each route takes its right, and answers nobody who has all others', async () => {
  const all: Right[] = ['read', 'watch', 'write', 'operate', 'decide'];
  for (const right of all) {
    const made = await add('--as', 'anna', '--rights', all.filter((one) => one !== right).join());
    for (const [name, taken] of Object.entries(RIGHT_OF)) {
      const { where } = routes[name as keyof typeof routes];
      const [method = '', pattern = ''] = where.split(' ');
      // A token without `read` cannot be made; webhooks and streams are tried by tests of their own.
      if (taken !== right || right === 'read' || name === 'event' || name === 'wake') continue;
      const path = pattern.replace(/\{\w+\}/g, 'x');
      const headers = { ...bearer(made), ...(method === 'POST' && JSON_TYPE) };
      const [status, code] = await asked(
        method,
        path,
        headers,
        method === 'POST' ? '{}' : undefined,
      );
      expect([name, status, code]).toEqual([name, 403, 'forbidden']);
    }
  }
  const reader = await add('--as', 'anna', '--rights', 'read');
  for (const path of ['/api/now', '/api/inbox', '/api/channels', '/api/cost', '/metrics'])
    expect((await web.raw('GET', path, bearer(reader))).status).toBe(200);
});

it('a token that is removed lets nobody in, and what follows the bus with it ends', async () => {
  const anna = await add('--as', 'anna');
  const stream = await fetch(`http://127.0.0.1:${String(web.port)}/api/events`, {
    headers: bearer(anna),
  });
  expect(stream.status).toBe(200);
  const ended = stream.body?.pipeTo(new WritableStream()).then(() => 'ended');
  const listed = await host.run('web', 'token', 'list');
  expect(listed.out).toMatch(new RegExp(`^${anna.id}  anna  read,write  until `));
  expect(listed.out).not.toContain(anna.token.slice(9));
  expect((await host.run('web', 'token', 'remove', anna.id)).out).toBe(
    `Removed: ${anna.id} of anna\n`,
  );
  expect((await web.raw('GET', '/api/now', bearer(anna))).status).toBe(401);
  expect(await Promise.race([ended, sleep(60_000, 'not ended')])).toBe('ended');
  expect((await host.run('web', 'token', 'remove', anna.id)).code).toBe(1);
});

it('a token counts until its day, and in a read-only window only to read', async () => {
  const anna = await add('--as', 'anna', '--days', '2');
  expect(Math.round((Date.parse(anna.until) - Date.now()) / 86_400_000)).toBe(2);
  const shut = await Web.start(host, '--read-only');
  const headers = { ...bearer(anna), ...JSON_TYPE };
  expect((await shut.raw('POST', '/api/send', headers, '{}')).status).toBe(403);
  expect((await shut.raw('GET', '/api/now', bearer(anna))).status).toBe(200);
});

it.each([
  [['add', '--as', 'all'], /^crosstalk web token: --as is "all", which is no person's name/],
  [['add', '--as', 'a b'], /^crosstalk web token: --as is "a b", expected a name/],
  [
    ['add', '--as', 'anna', '--rights', 'admin'],
    /^crosstalk web token: --rights has "admin", expected some of: read,/,
  ],
  [
    ['add', '--as', 'anna', '--days', '0'],
    /^crosstalk web token: --days is "0", expected 1 to 365/,
  ],
  [
    ['show'],
    /^crosstalk web token: crosstalk web token "show" is not known, expected add, list or remove/,
  ],
  [['add'], /^crosstalk web token: nobody is named whom it lets in; say who with: /],
  [['add', 'anna'], /^crosstalk web token: crosstalk web token add takes no "anna"\n$/],
  [['list', '--days', '3'], /^crosstalk web token: crosstalk web token list takes no --days\n$/],
  [['remove'], /^crosstalk web token: no token is named; give its id, /],
  [['remove', '--as', 'anna'], /^crosstalk web token: crosstalk web token remove takes no --as\n$/],
])('web token %j is refused in one line', async (argv, line) => {
  const ran = await host.run('web', 'token', ...argv);
  expect(ran.code).toBe(2);
  expect(ran.err).toMatch(line);
  expect(ran.err.trim().split('\n')).toHaveLength(1);
});

it('what a program of this machine has printed is not shown without the right to watch', async () => {
  const sick = await bus.host('back', {
    sick: { default: { cli: 'echo sk-very-secret >&2; exit 3', attempts: 1 } },
  });
  const asked = await sick.send('sick', 'hello');
  await sick.once();
  const theirs = await Web.start(sick);
  const ran = await sick.run('web', 'token', 'add', '--json', '--as', 'bob', '--rights', 'read');
  const bob = bearer(JSON.parse(ran.out) as Made);
  const shut = await Web.start(sick, '--read-only');
  for (const path of ['/api/now', `/api/thread?ref=${asked}`]) {
    expect((await theirs.raw('GET', path, theirs.bearer())).text).toContain('sk-very-secret');
    expect((await theirs.raw('GET', path, bob)).text).not.toContain('sk-very-secret');
    expect((await shut.raw('GET', path, shut.bearer())).text).not.toContain('sk-very-secret');
  }
});
