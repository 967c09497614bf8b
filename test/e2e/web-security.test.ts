import { mkdirSync, readFileSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Files } from '../../src/web/serve.ts';
import { openBrowser } from '../../src/web/browser.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { TOKEN, Web, type Answer } from '../support/web.ts';

const bodies = (): string[] => bus.messages().map(({ message }) => message.body);
const JSON_TYPE = { 'content-type': 'application/json' };

let bus: Bus;
let host: Host;
let web: Web;
beforeAll(async () => {
  bus = new Bus();
  host = await bus.host('front', {});
  web = await Web.open(host);
});
afterAll(async () => {
  await web.stop();
});

/** The cookie of a browser that opened the printed address. */
async function cookieOf(web: Web): Promise<string> {
  const { pathname, search } = new URL(web.url);
  const entered = await web.raw('GET', pathname + search);
  expect(entered.status).toBe(200);
  return String(entered.headers['set-cookie']).split(';')[0] ?? '';
}

it('nothing is answered without the token, and the token in the address becomes a cookie that scripts and other sites do not get', async () => {
  expect(web.token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  for (const path of ['/', '/c/general', '/assets/x.js', '/api/now', '/api/events', '/metrics'])
    expect((await web.raw('GET', path)).status).toBe(401);
  const wrong = [`Bearer ${web.token}x`, `Bearer ${web.token.slice(1)}`, `Basic ${web.token}`, ''];
  for (const authorization of wrong)
    expect((await web.raw('GET', '/api/now', { authorization })).status).toBe(401);
  expect((await web.raw('GET', '/?token=wrong')).status).toBe(401);
  expect((await web.raw('GET', `/api/now?token=${web.token}`)).status).toBe(401);

  const entered = await web.raw('GET', `/c/general?token=${web.token}`);
  const cookie = String(entered.headers['set-cookie']);
  expect(cookie).toMatch(/^crosstalk-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(cookie).not.toContain(web.token);
  expect(entered.text).toContain('content="0;url=/c/general"');
  expect(entered.text).not.toContain(web.token);
  const value = cookie.split(';')[0] ?? '';
  expect((await web.raw('GET', '/api/now', { cookie: `a=b; ${value}` })).status).toBe(200);
  expect((await web.raw('GET', '/api/now', { cookie: `${value}x` })).status).toBe(401);
  expect((await web.raw('GET', '/api/now', web.bearer())).status).toBe(200);
});

it('the page after the token leads to no other site, whatever path the address has', async () => {
  for (const path of [
    '//evil.example',
    '/%2f/evil.example',
    '/"><script>alert(1)</script>',
    '/\\evil',
  ]) {
    const { text } = await web.raw('GET', `${path}?token=${web.token}`);
    const target = /content="0;url=([^"]*)"/.exec(text)?.[1] ?? '';
    expect(new URL(target, 'http://127.0.0.1:1').origin).toBe('http://127.0.0.1:1');
    expect(text).not.toContain('<script>');
  }
});

it('every answer forbids scripts of others, frames, sniffing, caching and referrers, and allows no other origin', async () => {
  const origin = 'https://evil.example';
  const answers: Answer[] = [
    await web.raw('GET', '/', web.bearer()),
    await web.raw('GET', '/'),
    await web.raw('GET', `/?token=${web.token}`),
    await web.raw('GET', '/api/now', web.bearer()),
    await web.raw('GET', '/api/nothing', web.bearer()),
    await web.raw('GET', '/metrics', web.bearer()),
    await web.raw('POST', '/api/wake', { ...web.bearer(), origin }, '{}'),
    await web.raw('OPTIONS', '/api/send', { origin, 'access-control-request-method': 'POST' }),
  ];
  for (const { headers } of answers) {
    const policy = String(headers['content-security-policy']);
    // A page of a few words has no script and a style of its own, and loads nothing at all.
    const isPlain = policy.startsWith("default-src 'none'; style-src 'sha256-");
    if (!isPlain)
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
    for (const rule of [
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      ...(isPlain ? [] : ["connect-src 'self'", "require-trusted-types-for 'script'"]),
    ])
      expect(policy.split('; ')).toContain(rule);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

it('a name that was made to lead to this machine gets nothing, with or without the token', async () => {
  const status = async (name: string): Promise<number> =>
    (await web.raw('GET', '/api/now', { ...web.bearer(), host: name })).status;
  const port = String(web.port);
  for (const name of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1',
    `127.0.0.1:1`,
    `localhost.evil.example:${port}`,
    `user@127.0.0.1:${port}`,
  ])
    expect([400, 403]).toContain(await status(name));
  for (const name of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
    expect(await status(name)).toBe(200);
});

it('other sites can neither write nor look on with the browser of somebody who is in', async () => {
  const cookie = await cookieOf(web);
  const ours = `http://127.0.0.1:${String(web.port)}`;
  const body = JSON.stringify({ to: 'nobody', body: 'forged' });
  const write = async (headers: Record<string, string>, type = JSON_TYPE['content-type']) =>
    (await web.raw('POST', '/api/send', { cookie, 'content-type': type, ...headers }, body)).status;
  expect(await write({})).toBe(403);
  expect(await write({ origin: 'https://evil.example' })).toBe(403);
  expect(await write({ origin: 'null' })).toBe(403);
  expect(await write({ origin: `${ours}0` })).toBe(403);
  expect(await write({ origin: 'http://localhost:1' })).toBe(403);
  expect(await write({ 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await write({ origin: ours, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await write({ origin: ours }, 'text/plain')).toBe(415);
  expect(await write({ origin: ours }, 'application/x-www-form-urlencoded')).toBe(415);
  for (const headers of [
    {},
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
  ])
    expect((await web.raw('GET', '/api/events', { cookie, ...headers })).status).toBe(403);
  const elsewhere = { cookie, 'sec-fetch-site': 'cross-site' };
  expect((await web.raw('GET', '/api/now', elsewhere)).status).toBe(403);
  expect(bodies()).not.toContain('forged');
  expect(await write({ origin: ours, 'sec-fetch-site': 'same-origin' })).toBe(202);
});

it('a body larger than a message can be is refused before it is read, and one that is just too large by its size', async () => {
  const headers = { ...web.bearer(), ...JSON_TYPE };
  const huge = JSON.stringify({ to: 'nobody', body: 'x'.repeat(7 * 1024 * 1024) });
  expect((await web.raw('POST', '/api/send', headers, huge)).status).toBe(413);
  const said = { ...headers, 'content-length': '9999999' };
  expect((await web.raw('POST', '/api/send', said)).status).toBe(413);
  const large = JSON.stringify({ to: 'nobody', body: 'x'.repeat(1024 * 1024) });
  const refused = await web.raw('POST', '/api/send', headers, large);
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('more than the limit of 1 MiB');
  expect(bodies().filter((body) => /^(no|x+)$/.test(body))).toEqual([]);
});

it('a read-only server refuses every write and says so', async () => {
  const reader = await Web.start(host, '--read-only');
  expect(await reader.get('/api/session')).toMatchObject({ read_only: true });
  const body = JSON.stringify({ to: 'nobody', body: 'no' });
  for (const path of ['/api/send', '/api/dead-letters/all/retry', '/api/wake', '/api/later']) {
    const { status, text } = await reader.raw(
      'POST',
      path,
      { ...reader.bearer(), ...JSON_TYPE },
      body,
    );
    expect([status, JSON.parse(text)]).toMatchObject([403, { error: { code: 'read_only' } }]);
  }
  expect((await reader.raw('DELETE', '/api/now', reader.bearer())).status).toBe(403);
  expect(bodies().filter((body) => /^(no|x+)$/.test(body))).toEqual([]);
});

it('no path leads out of the page’s folder, and hashed files alone are kept by the browser', async () => {
  const root = scratch();
  mkdirSync(join(root, 'page', 'assets'), { recursive: true });
  writeFileSync(join(root, 'secret.txt'), 'secret');
  writeFileSync(join(root, 'page', 'index.html'), '<!doctype html>the page');
  writeFileSync(join(root, 'page', 'assets', 'main-Ab12Cd34.js'), 'script');
  const files = new Files(join(root, 'page'));
  const outside = [
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/\0/secret.txt',
    `${root}/secret.txt`,
    '//secret.txt',
  ];
  for (const path of outside) expect(await (await files.at(path)).text()).not.toContain('secret');
  const script = await files.at('/assets/main-Ab12Cd34.js');
  expect([await script.text(), script.headers.get('content-type')]).toEqual([
    'script',
    'text/javascript; charset=utf-8',
  ]);
  expect(script.headers.get('cache-control')).toContain('immutable');
  expect((await files.at('/assets/gone-Ab12Cd34.js')).status).toBe(404);
  for (const path of [
    '/',
    '/index.html',
    '/c/release-2.0',
    '/m/x/2026/01/01/000000000Z-00000000.md',
  ]) {
    const page = await files.at(path);
    expect([page.headers.get('cache-control'), await page.text()]).toEqual([
      'no-store',
      '<!doctype html>the page',
    ]);
  }
  expect((await new Files(join(root, 'nowhere')).at('/')).status).toBe(503);

  for (const path of [
    '/../../../../../../etc/passwd',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/%2e%2e/%2e%2e/package.json',
  ])
    expect((await web.raw('GET', path, web.bearer())).text).not.toMatch(/root:|"crosstalk"/);
});

it('another address than this machine’s takes a token of at least 16 characters, and what it means is said', async () => {
  const none = await host.run('web', '--port', '0', '--host', '0.0.0.0');
  expect(none).toMatchObject({ code: 2, out: '' });
  expect(none.err).toMatch(/^crosstalk web: .*--token.*\n$/);
  for (const token of ['short', 'with blanks and more of them', '"quotes"-and-more-than-16'])
    expect((await host.run('web', '--port', '0', '--token', token)).code).toBe(2);
  expect((await host.run('web', '--port', '70000')).code).toBe(2);

  const open = await Web.start(host, '--host', '0.0.0.0', '--token', TOKEN);
  expect(open.token).toBe(TOKEN);
  const stranger = { ...open.bearer(), host: `evil.example:${String(open.port)}` };
  expect((await open.raw('GET', '/api/now', stranger)).status).toBe(403);
  expect((await open.raw('GET', '/api/now', open.bearer())).status).toBe(200);
  const { err } = await open.stop();
  expect(err).toMatch(
    /^crosstalk web: 0\.0\.0\.0 is open to other machines: .* not encrypted; .*$/m,
  );
});

it('a port that is taken is said in one line, with what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const ran = await host.run('web', '--port', String(port));
  other.close();
  await once(other, 'close');
  expect(ran).toMatchObject({ code: 1, out: '' });
  expect(ran.err).toBe(
    `crosstalk web: port ${String(port)} of 127.0.0.1 is taken by another program; choose another with --port, or 0 for any that is free\n`,
  );
});

it('the browser is opened without the token among its arguments, by a file that only its owner may read', async () => {
  const folder = scratch();
  let argument = '';
  const launch = (_: string, given: string): Promise<boolean> => {
    argument = given;
    const file = new URL(given);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`0;url=http://127.0.0.1:1/?token=${TOKEN}`);
    return Promise.resolve(true);
  };
  const url = `http://127.0.0.1:1/?token=${TOKEN}`;
  const { opened, forget } = await openBrowser(url, folder, 'linux', launch);
  expect([opened, argument.includes(TOKEN)]).toEqual([true, false]);
  await forget();
  expect(existsSync(new URL(argument))).toBe(false);
  const failed = await openBrowser(url, folder, 'darwin', () => Promise.resolve(false));
  expect([failed.opened, existsSync(join(folder, 'web.html'))]).toEqual([false, false]);
});
