import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WebError } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, UNLESS } from '../support/browser.ts';
import { until } from '../support/wait.ts';
import { TOKEN, Web } from '../support/web.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BODY = JSON.stringify({ to: 'nobody', body: 'through the proxy' });

/** A port of this machine that leads to another one, as `ssh -L` makes it. */
async function forward(): Promise<{ port: number; to: (port: number) => void }> {
  let target = 0;
  const server: Server = createServer((socket) => {
    const other = connect(target, '127.0.0.1');
    for (const [one, next] of [
      [socket, other],
      [other, socket],
    ] as const) {
      one.pipe(next);
      one.on('error', () => next.destroy());
      one.on('close', () => next.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    to: (at) => {
      target = at;
    },
  };
}

const start = async (...options: string[]): Promise<{ web: Web; host: Host; bus: Bus }> => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  return { web: await Web.start(host, ...options), host, bus };
};

it('a forwarded port is refused by a page that names the option, and works with it', async () => {
  const { web, host } = await start();
  const asked = (path: string, accept: string): ReturnType<Web['raw']> =>
    web.raw('GET', path, { ...web.bearer(), host: 'localhost:8080', accept });
  const page = await asked(`/?token=${web.token}`, 'text/html,*/*;q=0.8');
  expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
  expect(page.text).toContain('crosstalk web --public-url http://localhost:8080');
  expect(page.headers['set-cookie']).toBeUndefined();
  const api = await asked('/api/now', '*/*');
  const { error } = JSON.parse(api.text) as WebError;
  expect([api.status, error.code]).toEqual([403, 'forbidden']);
  expect(error.message).toMatch(/--public-url http:\/\/localhost:8080$/);
  // Where another page's name was made to lead here, it learns no more than its own name.
  for (const name of ['evil.example', 'evil.example:80', `evil.example:${String(web.port)}`]) {
    const { status, text } = await web.raw('GET', '/api/now', { ...web.bearer(), host: name });
    expect([status, text.includes(web.token), text.includes(host.dir)]).toEqual([
      403,
      false,
      false,
    ]);
  }
  for (const name of ['<b>', '"x"', 'a b', "'", `${'a'.repeat(300)}.example`]) {
    const { status, text } = await web.raw('GET', '/', { host: name });
    expect([400, 403]).toContain(status);
    expect(text).not.toContain(name);
  }

  const tunnel = await Web.start(host, '--public-url', 'http://localhost:8080');
  expect(tunnel.url).toBe(`http://localhost:8080/?token=${tunnel.token}`);
  const local = { host: 'localhost:8080' };
  const entered = await tunnel.raw('GET', `/?token=${tunnel.token}`, local);
  const cookie = String(entered.headers['set-cookie']);
  expect(cookie).toMatch(/^crosstalk-8080=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  const inside = { ...local, cookie: cookie.split(';')[0] ?? '' };
  expect((await tunnel.raw('GET', '/api/now', inside)).status).toBe(200);
  const write = (headers: Record<string, string>): ReturnType<Web['raw']> =>
    tunnel.raw('POST', '/api/send', { ...inside, ...JSON_TYPE, ...headers }, BODY);
  expect((await write({ origin: 'http://localhost:8080' })).status).toBe(202);
  for (const origin of ['http://localhost:3000', 'https://localhost:8080', 'http://evil.example'])
    expect((await write({ origin })).status).toBe(403);
  for (const name of ['localhost:8081', 'evil.example:8080', 'evil.example'])
    expect((await write({ origin: `http://${name}`, host: name })).status).toBe(403);
  // What it listens on itself still works.
  expect((await tunnel.raw('GET', '/api/now', tunnel.bearer())).status).toBe(200);
});

it('behind a TLS proxy the page is let in by a Secure cookie, whatever Host the proxy writes', async () => {
  const { web, bus } = await start('--public-url', 'https://bus.example.org/');
  expect(web.url).toBe(`https://bus.example.org/?token=${web.token}`);
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'bus.example.org' };
  const own = `127.0.0.1:${String(web.port)}`;
  for (const host of ['bus.example.org', 'bus.example.org:443', own]) {
    const entered = await web.raw('GET', `/?token=${web.token}`, { ...forwarded, host });
    const cookie = String(entered.headers['set-cookie']);
    expect(cookie).toMatch(/^crosstalk-443=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const inside = { ...forwarded, host, cookie: cookie.split(';')[0] ?? '', ...JSON_TYPE };
    const from = (origin: string, more = {}): ReturnType<Web['raw']> =>
      web.raw('POST', '/api/send', { ...inside, origin, ...more }, BODY);
    expect((await from('https://bus.example.org')).status).toBe(202);
    for (const origin of ['http://bus.example.org', 'https://evil.example', 'null'])
      expect([host, origin, (await from(origin)).status]).toEqual([host, origin, 403]);
    const { status } = await from('https://bus.example.org', { 'sec-fetch-site': 'same-site' });
    expect(status).toBe(403);
  }
  await until('the messages', () => bus.messages().length === 3);
  // Headers that a client may write itself let nobody in.
  const evil = { host: 'evil.example', ...forwarded, ...web.bearer() };
  const refused = await web.raw('GET', '/api/now', evil);
  expect([refused.status, refused.text]).toEqual([
    403,
    expect.stringContaining('--public-url https://evil.example'),
  ]);
});

it('a public address that is none is refused in one line, and no server is started', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  for (const said of [
    'bus.example.org',
    'https://bus.example.org/path',
    'ftp://x',
    'http://0.0.0.0',
  ]) {
    const ran = await host.run('web', '--port', '0', '--public-url', said);
    expect([ran.code, ran.out]).toEqual([2, '']);
    expect(ran.err).toMatch(
      /^crosstalk web: --public-url is .*, expected .*http:\/\/localhost:8080.*\n$/,
    );
  }
  const secret = await host.run('web', '--port', '0', '--public-url', 'https://anna:hunter2@x.org');
  expect([secret.code, secret.err.includes('hunter2')]).toEqual([2, false]);
});

it(
  'a server that listens everywhere prints addresses that can be opened',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const open = await Web.start(host, '--host', '0.0.0.0', '--token', TOKEN);
    expect(open.url).toBe(`http://localhost:${String(open.port)}/?token=${TOKEN}`);
    expect(
      (await open.raw('GET', '/api/now', { ...open.bearer(), host: new URL(open.url).host }))
        .status,
    ).toBe(200);
    const stop = new AbortController();
    let out = '';
    const argv = ['web', '--port', '0', '--host', '0', '--token', TOKEN];
    const onOut = (text: string): void => {
      out += text;
    };
    const done = host.runWith({ stop: stop.signal, onOut }, ...argv);
    await until('the address', () => out.includes('\n'));
    stop.abort();
    await done;
    expect(out).toMatch(
      /^Open: http:\/\/localhost:\d+\/\?token=\S+\n(from other machines: http:\/\/\S+\n)*$/,
    );
    expect(out).not.toMatch(/0\.0\.0\.0|\[::\]/);
  },
);

it('who is not let in is told in a page what to do, and a program in JSON', async () => {
  const { web } = await start();
  const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
  for (const path of ['/', '/c/general', '/?token=wrong', `/?token=${web.token}x`]) {
    const { status, headers, text } = await web.raw('GET', path, { accept: html });
    expect([path, status]).toEqual([path, 401]);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['www-authenticate']).toBe('Bearer realm="crosstalk web"');
    expect(String(headers['content-security-policy'])).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
    );
    expect(text).toMatch(/<h1>This (browser is not let in yet|token is not valid)<\/h1>/);
    expect(text).toContain('Open the address that <code>crosstalk web</code> printed');
    expect(text).not.toMatch(/src=|href=|url\(|<script|wrong/);
  }
  for (const [path, accept] of [
    ['/api/now', html],
    ['/api/now', '*/*'],
    ['/metrics', 'text/plain'],
    ['/', 'application/json'],
  ] as const) {
    const { status, text } = await web.raw('GET', path, { accept });
    expect([status, JSON.parse(text)]).toMatchObject([401, { error: { code: 'unauthorized' } }]);
  }
});

describe.skipIf(!hasBrowser)(`in a browser ${UNLESS}`, () => {
  const browsing = new Browsing();

  it('the page works through a forwarded port', { tags: 'long' }, async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const { port, to } = await forward();
    const web = await Web.start(host, '--public-url', `http://localhost:${String(port)}`);
    to(web.port);
    const window = await browsing.window(web);
    const { page } = window;
    expect(window.origin).toBe(`http://localhost:${String(port)}`);
    await window.open(`/c/${host.channel()}`);
    await page.getByText(/^\d+ messages?$/).waitFor();
    await page.getByRole('combobox', { name: 'To' }).fill('nobody');
    await page.getByRole('textbox', { name: /^Message/ }).fill('through the tunnel');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('article', { hasText: 'through the tunnel' }).waitFor();
    await until('it on the remote', () => bus.messages().length === 1);
    expect(window.errors).toEqual([]);
    await window.close();
  });
});
