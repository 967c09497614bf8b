import { expect, it } from 'vitest';
import { cookieIn, isLoopback, isOurHost, isOurOrigin, pagePath } from '../../src/web/guard.ts';

const own = { host: '127.0.0.1', port: 7777, hostname: 'annas-laptop' };

it('a Host header is ours when it names this server by an address or name that no other site can have', () => {
  const isOurs = (header: string | undefined, host = own.host): boolean =>
    isOurHost(header, { ...own, host });
  for (const header of ['127.0.0.1:7777', 'localhost:7777', 'LOCALHOST:7777', '[::1]:7777'])
    expect(isOurs(header)).toBe(true);
  for (const header of [
    undefined,
    '',
    '127.0.0.1',
    '127.0.0.1:7778',
    'evil.example:7777',
    '127.0.0.1.evil.example:7777',
    'annas-laptop:7777',
    '10.0.0.1:7777',
    '[::1',
    'localhost:7777@evil.example',
  ])
    expect(isOurs(header)).toBe(false);
  expect(isOurs('10.0.0.1:7777', '0.0.0.0')).toBe(true);
  expect(isOurs('annas-laptop:7777', '0.0.0.0')).toBe(true);
  expect(isOurs('evil.example:7777', '0.0.0.0')).toBe(false);
  expect(isOurs('10.0.0.2:7777', '10.0.0.1')).toBe(false);
  expect(isOurs('10.0.0.1:7777', '10.0.0.1')).toBe(true);
});

it('a request is ours when what the browser says of its origin is this server, and where a cookie speaks it has to say', () => {
  const host = '127.0.0.1:7777';
  const from = (origin: string | undefined, site?: string): boolean[] =>
    [true, false].map((strict) => isOurOrigin({ host, origin, site }, strict));
  expect(from('http://127.0.0.1:7777')).toEqual([true, true]);
  expect(from('http://127.0.0.1:7777', 'same-origin')).toEqual([true, true]);
  expect(from(undefined, 'same-origin')).toEqual([true, true]);
  expect(from(undefined)).toEqual([false, true]);
  for (const site of ['cross-site', 'same-site', 'none', ''])
    expect(from('http://127.0.0.1:7777', site)).toEqual([false, false]);
  for (const origin of ['https://127.0.0.1:7777', 'http://127.0.0.1:77', 'null', 'http://evil'])
    expect(from(origin)).toEqual([false, false]);
});

it('loopback is this machine alone, whatever a name begins with', () => {
  for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost'])
    expect(isLoopback(host)).toBe(true);
  for (const host of ['0.0.0.0', '::', '127.0.0.1.evil.example', '10.127.0.1', 'localhost.evil'])
    expect(isLoopback(host)).toBe(false);
});

it('of a path only what is one of the page’s gets into HTML', () => {
  for (const path of ['/c/general', '/m/x/2026/01/01/000000000Z-00000000.md', '/c/a%20b', '/t/x/'])
    expect(pagePath(path)).toBe(path);
  for (const path of [
    '//evil',
    '/a//b',
    '/"onload=',
    '/<b>',
    '/a%',
    "/a'b",
    '/a?b',
    '/a;url=b',
    '',
  ])
    expect(pagePath(path)).toBe('/');
});

it('a cookie is found by its whole name', () => {
  expect(cookieIn('a=1; crosstalk-77=x=y; b=2', 'crosstalk-77')).toBe('x=y');
  expect(cookieIn('xcrosstalk-77=1', 'crosstalk-77')).toBeUndefined();
  expect(cookieIn(undefined, 'crosstalk-77')).toBeUndefined();
});
