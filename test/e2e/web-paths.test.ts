import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathOf } from '../../src/web/path.ts';
import { Bus } from '../support/bus.ts';
import { Web } from '../support/web.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BODY = JSON.stringify({ to: 'nobody', body: 'forged' });

let bus: Bus;
let web: Web;
let cookie: string;
beforeAll(async () => {
  bus = new Bus();
  web = await Web.open(await bus.host('front', {}));
  const { pathname, search } = new URL(web.url);
  const entered = await web.raw('GET', pathname + search);
  cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
});
afterAll(async () => {
  await web.stop();
});

/** Ways to write the part of a path that leads to the API, with the same meaning as the plain one. */
const SAME = [
  '/%61pi/',
  '/a%70i/',
  '/%61%70%69/',
  '//api/',
  '///api//',
  '/./api/',
  '/x/../api/',
  '/x/%2e%2e/api/',
  '/x/%2E./api/',
  '/%2e/api/',
  '/api/%2e/',
  '/api/x/%2e%2e/',
  '//%61pi//./',
];
/** Those that belong to the API, and lead to nothing there. */
const NOTHING = ['/API/', '/Api/', '/%41PI/', '/api/%2e%2e%2f', '/api/..%2f', '/api//x/'];
/** Those that are addresses of the page. */
const PAGE = [
  '/api%2f',
  '/api%2F',
  '/%2fapi/',
  '/api%5c',
  '/api;x/',
  '/%2561pi/',
  '/%%36%31pi/',
  '/api%00/',
  '/%c0%afapi/',
  '/api%20/',
  '/%ef%bd%81pi/',
];

describe.each([...SAME, ...NOTHING, ...PAGE])('under %s', (prefix) => {
  it('another site gets nothing that it does not get under the plain path', async () => {
    const evil = { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const read = { cookie, 'sec-fetch-site': 'cross-site' };
    for (const path of ['now', 'events', 'session', 'channels', 'metrics']) {
      const { status, headers, text } = await web.raw('GET', prefix + path, read);
      const isPage = String(headers['content-type']).startsWith('text/html');
      expect([path, status, isPage]).toEqual(
        PAGE.includes(prefix) ? [path, 200, true] : [path, 403, false],
      );
      expect(text).not.toMatch(/"(tip|event_id|transport)"/);
    }
    for (const [path, type] of [
      ['send', JSON_TYPE],
      ['send', { 'content-type': 'text/plain' }],
      ['wake', {}],
      ['dead-letters/all/retry', JSON_TYPE],
    ] as const)
      expect([
        path,
        (await web.raw('POST', prefix + path, { ...evil, ...type }, BODY)).status,
      ]).toEqual([path, 403]);
    expect(bus.messages()).toEqual([]);
  });

  it('nobody is answered without the token, nor with the token in an address of the API', async () => {
    for (const path of ['now', 'events'])
      expect((await web.raw('GET', prefix + path)).status).toBe(401);
    const entered = await web.raw('GET', `${prefix}now?token=${web.token}`);
    expect(entered.status).toBe(PAGE.includes(prefix) ? 200 : 401);
    expect((await web.raw('POST', `${prefix}send`, JSON_TYPE, BODY)).status).toBe(401);
  });

  it('whoever has the token gets the answer of the plain path, or none', async () => {
    const { status, headers } = await web.raw('GET', `${prefix}session`, web.bearer());
    const type = String(headers['content-type']);
    if (SAME.includes(prefix)) expect([status, type]).toEqual([200, expect.stringMatching('json')]);
    else if (NOTHING.includes(prefix))
      expect([status, type]).toEqual([404, expect.stringMatching('json')]);
    else expect(type).toMatch('text/html');
  });
});

it('a path has one form, and an escape in a name stays one', () => {
  for (const [path, plain] of [
    ['/', '/'],
    ['//', '/'],
    ['/api/channels/a%2Fb/messages', '/api/channels/a%2Fb/messages'],
    ['/api/channels/%C3%A9t%C3%A9', '/api/channels/%C3%A9t%C3%A9'],
    ['/api/channels/100%25/messages', '/api/channels/100%25/messages'],
    ['/api/channels/%2561', '/api/channels/%2561'],
    ['/%2e%2e/%2E%2e/api/now', '/api/now'],
    ['/a%2e%2e/b', '/a../b'],
    ['/%%32%65/x', '/%252e/x'],
    [`/${'%3'.repeat(4000)}%31`, `/${'%253'.repeat(4000)}1`],
    ['/api/%', '/api/%25'],
  ] as const)
    expect([path, pathOf(`http://127.0.0.1:1${path}`)]).toEqual([path, plain]);
});

it('a channel whose name needs escapes is found by it', async () => {
  const missing = await web.raw('GET', '/api/channels/a%2Fb%25c/messages', web.bearer());
  expect([missing.status, missing.text]).toEqual([404, expect.stringContaining('a/b%c')]);
});
