import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WebError, WebSent, WebWoken } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web, type Answer } from '../support/web.ts';

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

const problem = ({ status, text }: Answer): [number, string, string] => {
  const { code, message } = (JSON.parse(text) as WebError).error;
  return [status, code, message];
};
const bodies = (): string[] => bus.messages().map(({ message }) => message.body);

/** Sends a body in pieces whose total size is announced nowhere. */
function inPieces(
  path: string,
  pieces: readonly string[],
  more: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ...web.bearer(), ...JSON_TYPE, 'transfer-encoding': 'chunked', ...more };
    const where = { host: '127.0.0.1', port: web.port, agent: false };
    const sent = request({ ...where, method: 'POST', path, headers }, (got) => {
      let text = '';
      got.setEncoding('utf8');
      got.on('data', (chunk: string) => (text += chunk));
      got.on('end', () => {
        resolve({ status: got.statusCode ?? 0, headers: got.headers, text });
      });
      got.on('error', reject);
    });
    sent.on('error', reject);
    sent.on('socket', (socket) => socket.on('error', () => undefined));
    for (const piece of pieces) sent.write(piece);
    sent.end();
  });
}

it(
  'a request that needs no body is answered without one, whatever the client says of it',
  { tags: 'long' },
  async () => {
    const dispatcher = host.start();
    await until(
      'the dispatcher',
      async () => (await web.raw('POST', '/api/wake', web.bearer())).status === 200,
    );
    const none: Record<string, string>[] = [
      {},
      { 'content-length': '0' },
      { ...JSON_TYPE, 'content-length': '0' },
      { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' },
      JSON_TYPE,
    ];
    for (const headers of none) {
      const woken = await web.raw('POST', '/api/wake', { ...web.bearer(), ...headers });
      expect([woken.status, typeof (JSON.parse(woken.text) as WebWoken).pid]).toEqual([
        200,
        'number',
      ]);
      const retried = await web.raw('POST', '/api/dead-letters/all/retry', {
        ...web.bearer(),
        ...headers,
      });
      expect([retried.status, JSON.parse(retried.text)]).toMatchObject([200, { released: [] }]);
    }
    expect((await inPieces('/api/wake', [])).status).toBe(200);
    expect((await inPieces('/api/wake', ['{', '}'])).status).toBe(200);
    await dispatcher.stop();
    expect(problem(await web.raw('POST', '/api/wake', web.bearer()))).toMatchObject([
      404,
      'not_found',
      expect.stringContaining('dispatcher'),
    ]);
  },
);

it('a body that comes in pieces counts as one that came at once, and has the same limit', async () => {
  const sent = await inPieces('/api/send', ['{"to":"no', 'body","body":"in pie', 'ces"}']);
  expect(sent.status).toBe(202);
  expect((JSON.parse(sent.text) as WebSent).messages).toHaveLength(1);
  const half = 'x'.repeat(512 * 1024);
  const large = await inPieces('/api/send', ['{"to":"nobody","body":"', half, half, '"}']);
  expect(problem(large)).toMatchObject([400, 'usage', expect.stringContaining('limit of 1 MiB')]);
  const huge = Array.from({ length: 14 }, () => half);
  expect(problem(await inPieces('/api/send', ['{"to":"nobody","body":"', ...huge, '"}']))).toEqual([
    413,
    'too_large',
    'the body is larger than 6356992 bytes; send less',
  ]);
  // A request without a body has the limit as well.
  const said = { ...web.bearer(), ...JSON_TYPE, 'content-length': '9999999' };
  expect((await web.raw('POST', '/api/wake', said)).status).toBe(413);
  for (const [pieces, words] of [
    [[], 'the body is not JSON'],
    [['{"to":'], 'the body is not JSON'],
    [['[]'], 'parse'],
  ] as const)
    expect(problem(await inPieces('/api/send', pieces))).toMatchObject([
      400,
      'usage',
      words === 'parse' ? expect.any(String) : words,
    ]);
  const text = { 'content-type': 'text/plain' };
  expect((await inPieces('/api/send', ['{"to":"nobody","body":"no"}'], text)).status).toBe(415);
  expect(bodies().filter((body) => /^x|^no$/.test(body))).toEqual([]);
});

it('another method than a path has is refused in one way, which tells those it has', async () => {
  const cases: [method: string, path: string, allow: string][] = [
    ['DELETE', '/api/now', 'GET, HEAD'],
    ['DELETE', '/api/send', 'POST'],
    ['OPTIONS', '/api/send', 'POST'],
    ['OPTIONS', '/api/now', 'GET, HEAD'],
    ['PUT', '/api/dead-letters/all/retry', 'POST'],
    ['PATCH', '/api/channels/general/messages', 'GET, HEAD'],
    ['GET', '/api/send', 'POST'],
    ['HEAD', '/api/send', 'POST'],
    ['POST', '/api/now', 'GET, HEAD'],
    ['POST', '/metrics', 'GET, HEAD'],
    ['HEAD', '/api/events', 'GET'],
    ['TRACE', '/api/now', 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
    ['OPTIONS', '/c/general', 'GET, HEAD'],
    ['DELETE', '/assets/x.js', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of cases)
    for (const more of [{}, JSON_TYPE, { 'transfer-encoding': 'chunked', ...JSON_TYPE }]) {
      const hasBody = 'transfer-encoding' in more;
      if (hasBody && ['GET', 'HEAD', 'TRACE'].includes(method)) continue;
      const headers = { ...web.bearer(), ...more };
      const answer = await web.raw(method, path, headers, hasBody ? '{}' : undefined);
      const where = `${method} ${path}`;
      expect([where, answer.status, answer.headers['allow']]).toEqual([where, 405, allow]);
      expect(String(answer.headers['content-security-policy'])).toContain("default-src 'none'");
      if (method === 'HEAD') continue;
      expect(problem(answer)).toEqual([
        405,
        'usage',
        `${path} is not for ${method}, but for ${allow.replace(', ', ' and ')}; see /api/openapi.json`,
      ]);
    }
  // Who is not let in is not told even that.
  for (const method of ['DELETE', 'OPTIONS', 'PUT'])
    expect(problem(await web.raw(method, '/api/now'))).toMatchObject([
      401,
      'unauthorized',
      expect.any(String),
    ]);
  expect(problem(await web.raw('DELETE', '/api/nothing', web.bearer()))).toMatchObject([
    404,
    'not_found',
    expect.any(String),
  ]);
});

it('the page’s files come compressed to whoever takes it, and nothing secret ever does', async () => {
  const index = await web.raw('GET', '/', web.bearer());
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(index.text)?.[1] ?? '';
  const plain = await web.raw('GET', script, web.bearer());
  const packed = await fetch(new URL(script, `http://127.0.0.1:${String(web.port)}`), {
    headers: { ...web.bearer(), 'accept-encoding': 'gzip' },
  });
  expect([plain.headers['content-encoding'], packed.headers.get('content-encoding')]).toEqual([
    undefined,
    'gzip',
  ]);
  expect(packed.headers.get('cache-control')).toBe(plain.headers['cache-control']);
  expect(packed.headers.get('vary')).toContain('Accept-Encoding');
  expect((await packed.text()) === plain.text).toBe(true);
  for (const path of ['/', '/api/now', '/api/channels', '/metrics']) {
    const answer = await web.raw('GET', path, { ...web.bearer(), 'accept-encoding': 'gzip' });
    expect([path, answer.headers['content-encoding']]).toEqual([path, undefined]);
  }
});
