import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ulid } from 'ulid';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** What one of the tests sends on purpose. */
const ONCE = 'once for all';

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

const strays = (): string[] =>
  bus.messages().flatMap(({ message }) => (message.body === ONCE ? [] : [message.body]));

/** Writes bytes to the server and returns what comes back until it closes, or says enough. */
function said(bytes: string, enough: (text: string) => boolean = () => false): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket: Socket = connect(web.port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (enough(text)) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(text);
    });
  });
}
const isAnswered = (text: string): boolean => text.includes('\r\n\r\n');
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
const head = (line: string, ...headers: string[]): string =>
  [line, ...headers, '', ''].join('\r\n');

it('requests that no client should make are refused, and the server goes on', async () => {
  const own = `Host: 127.0.0.1:${String(web.port)}`;
  const token = `Authorization: Bearer ${web.token}`;
  const type = 'Content-Type: application/json';
  const body = '{"to":"nobody","body":"smuggled"}';
  const cases: [name: string, bytes: string][] = [
    ['two hosts', head('GET /api/now HTTP/1.1', own, 'Host: evil.example', token)],
    ['two hosts, ours last', head('GET /api/now HTTP/1.1', 'Host: evil.example', own, token)],
    ['no host', head('GET /api/now HTTP/1.1', token)],
    ['an empty host', head('GET /api/now HTTP/1.1', 'Host:', token)],
    ['a user in the host', head('GET /api/now HTTP/1.1', `Host: x@${own.slice(6)}`, token)],
    [
      'another address',
      head('GET http://evil.example/api/now HTTP/1.1', 'Host: evil.example', token),
    ],
    ['no path', head('OPTIONS * HTTP/1.1', own, token)],
    ['a path without slash', head('GET api/now HTTP/1.1', own, token)],
    ['a backslash', head('GET /api\\now HTTP/1.1', own, token)],
    ['a tunnel', head('CONNECT 127.0.0.1:22 HTTP/1.1', own, token)],
    ['an unknown method', head('FROBNICATE /api/now HTTP/1.1', own, token)],
    ['two tokens', head('GET /api/now HTTP/1.1', own, 'Authorization: Bearer x', token)],
    ['a long path', head(`GET /${'%3'.repeat(7000)} HTTP/1.1`, own)],
    ['a long header', head('GET / HTTP/1.1', own, `X: ${'x'.repeat(100_000)}`)],
    [
      'two lengths',
      head('POST /api/send HTTP/1.1', own, token, type, 'Content-Length: 5', 'Content-Length: 33') +
        body,
    ],
    [
      'a length and pieces',
      head(
        'POST /api/send HTTP/1.1',
        own,
        token,
        type,
        'Content-Length: 33',
        'Transfer-Encoding: chunked',
      ) + body,
    ],
    [
      'pieces that are none',
      head('POST /api/send HTTP/1.1', own, token, type, 'Transfer-Encoding: chunked') +
        'ffffffffffffffffff\r\n',
    ],
  ];
  for (const [name, bytes] of cases) {
    const answer = await said(bytes, isAnswered);
    const status = statusOf(answer);
    expect([name, Number.isNaN(status) || (status >= 400 && status < 500)]).toEqual([name, true]);
    expect([name, answer.includes('"tip"')]).toEqual([name, false]);
  }
  expect(strays()).toEqual([]);
  expect((await web.raw('GET', '/api/session', web.bearer())).status).toBe(200);
});

it('bodies that are hard to read are refused in one line', { tags: 'long' }, async () => {
  const headers = { ...web.bearer(), ...JSON_TYPE };
  const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
  const bodies: [name: string, body: string][] = [
    ['deep', deep],
    ['deep in a field', `{"to":"nobody","body":${deep}}`],
    ['deep objects', `${'{"to":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    [
      'many fields',
      `{${Array.from({ length: 100_000 }, (_, n) => `"f${String(n)}":"x"`).join(',')}}`,
    ],
    ['a prototype', '{"__proto__":{"to":"nobody"},"body":"x"}'],
    ['a constructor', '{"to":"nobody","body":"x","constructor":"y"}'],
    ['a number', '1'],
    ['nothing', 'null'],
    ['a text', '"to"'],
    ['a half character', '{"to":"nobody","body":"\\ud800","x":'],
  ];
  for (const [name, body] of bodies) {
    const { status, text } = await web.raw('POST', '/api/send', headers, body);
    expect([name, status]).toEqual([name, 400]);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'usage' } });
    expect(text.length).toBeLessThan(1000);
  }
  const keys = [`${ulid()}, ${ulid()}`, '%00'.repeat(9), `${ulid()}/../x`, 'é'.repeat(13)];
  for (const key of keys) {
    const send = JSON.stringify({ to: 'nobody', body: 'x' });
    const { status } = await web.raw(
      'POST',
      '/api/send',
      { ...headers, 'idempotency-key': key },
      send,
    );
    expect([key, status]).toEqual([key, 400]);
  }
  expect(strays()).toEqual([]);
});

it('who is not let in holds nothing open, and a head of the stream opens none', async () => {
  const own = `Host: 127.0.0.1:${String(web.port)}`;
  // A body that never ends, without the token: answered at once, and closed.
  const begun = head(
    'POST /api/send HTTP/1.1',
    own,
    'Content-Type: application/json',
    'Content-Length: 1000000',
  );
  expect(statusOf(await said(`${begun}{"to":`))).toBe(401);
  for (let n = 0; n < 50; n++)
    expect((await web.raw('HEAD', '/api/events', web.bearer())).status).toBe(405);
  const streams = async (): Promise<string | undefined> => {
    const { text } = await web.raw('GET', '/metrics', web.bearer());
    return /^crosstalk_web_streams (\d+)$/m.exec(text)?.[1];
  };
  expect(await streams()).toBe('0');
  const readers = await Promise.all(Array.from({ length: 20 }, () => web.events()));
  expect(await streams()).toBe('20');
  for (const reader of readers) reader.close();
  await until('the end of the streams', async () => (await streams()) === '0');
});

it('many requests with one key at the same time send one message', { tags: 'long' }, async () => {
  const key = ulid();
  const headers = { ...web.bearer(), ...JSON_TYPE, 'idempotency-key': key };
  const send = JSON.stringify({ to: 'nobody', body: ONCE });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => web.raw('POST', '/api/send', headers, send)),
  );
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([202]);
  await until('it on the remote', () => bus.messages().length > 0);
  await host.run('sync');
  expect(bus.messages().map(({ message }) => message.body)).toEqual([ONCE]);
});
