import { expect, it } from 'vitest';
import {
  openAddresses,
  publicUrlOf,
  cookiesIn,
  isLoopback,
  isOurOrigin,
  pagePath,
  whoseHost,
} from '../../src/web/guard.ts';

const own = { host: '127.0.0.1', bound: '127.0.0.1', port: 7777, hostname: 'annas-laptop' };

it('a Host header is ours when it names this server by an address or name that no other site can have', () => {
  const isOurs = (header: string | undefined, host = own.host): boolean =>
    whoseHost(header, { ...own, host, bound: host }) === 'own';
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
    [true, false].map((strict) => isOurOrigin({ host, origin, site }, strict, own));
  expect(from('http://127.0.0.1:7777')).toEqual([true, true]);
  expect(from('http://127.0.0.1:7777', 'same-origin')).toEqual([true, true]);
  expect(from(undefined, 'same-origin')).toEqual([true, true]);
  expect(from(undefined)).toEqual([false, true]);
  for (const site of ['cross-site', 'same-site', 'none', ''])
    expect(from('http://127.0.0.1:7777', site)).toEqual([false, false]);
  for (const origin of ['https://127.0.0.1:7777', 'http://127.0.0.1:77', 'null', 'http://evil'])
    expect(from(origin)).toEqual([false, false]);
});

it('behind a tunnel or proxy the public address is ours as well, and nothing else is', () => {
  const whose = (header: string, url: string): unknown =>
    whoseHost(header, { ...own, publicUrl: publicUrlOf(url) });
  const tunnel = 'http://localhost:8080';
  for (const header of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080', 'LocalHost:8080'])
    expect([header, whose(header, tunnel)]).toEqual([header, 'public']);
  for (const header of ['localhost', 'localhost:8081', 'evil.example:8080', 'localhost.evil:8080'])
    expect([header, whose(header, tunnel)]).toEqual([header, undefined]);
  const proxy = 'https://bus.example.org';
  for (const header of ['bus.example.org', 'bus.example.org:443', 'BUS.example.org'])
    expect([header, whose(header, proxy)]).toEqual([header, 'public']);
  for (const header of ['bus.example.org:80', 'example.org', 'bus.example.org.evil', 'localhost'])
    expect([header, whose(header, proxy)]).toEqual([header, undefined]);
  expect(whose('localhost:7777', proxy)).toBe('own');
  expect(whose('[2001:db8::1]:8443', 'https://[2001:DB8::1]:8443')).toBe('public');
});

it('a page of the public address is one of ours by its whole origin', () => {
  const from = (host: string, origin: string, url: string, site?: string): boolean =>
    isOurOrigin({ host, origin, site }, true, { ...own, publicUrl: publicUrlOf(url) });
  const proxy = 'https://bus.example.org';
  expect(from('bus.example.org', proxy, proxy)).toBe(true);
  // A proxy that writes a Host of its own.
  expect(from('127.0.0.1:7777', proxy, proxy, 'same-origin')).toBe(true);
  expect(from('127.0.0.1:7777', 'http://127.0.0.1:7777', proxy)).toBe(true);
  for (const origin of ['http://bus.example.org', 'https://bus.example.org:444', 'https://evil'])
    for (const host of ['bus.example.org', '127.0.0.1:7777'])
      expect([origin, from(host, origin, proxy)]).toEqual([origin, false]);
  expect(from('bus.example.org', proxy, proxy, 'same-site')).toBe(false);
  const tunnel = 'http://localhost:8080';
  expect(from('localhost:8080', tunnel, tunnel)).toBe(true);
  expect(from('127.0.0.1:8080', 'http://127.0.0.1:8080', tunnel)).toBe(true);
  expect(from('localhost:8080', 'http://localhost:3000', tunnel)).toBe(false);
  expect(from('localhost:8080', 'https://localhost:8080', tunnel)).toBe(false);
});

it('a public address is what comes before the path, and nothing else', () => {
  for (const [said, origin] of [
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['HTTPS://Bus.Example.ORG:443', 'https://bus.example.org'],
    ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ] as const)
    expect(publicUrlOf(said).origin).toBe(origin);
  for (const said of [
    '',
    'localhost:8080',
    'bus.example.org',
    '//bus.example.org',
    'ftp://bus.example.org',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://',
    'https://bus.example.org/crosstalk',
    'https://bus.example.org/?a',
    'https://bus.example.org/#a',
    'https://anna:secret@bus.example.org',
    'https://bus.example.org:99999',
    'https://bus.example.org\\evil',
    ' https://bus.example.org',
    'https://bus .example.org',
    'http://0.0.0.0:80',
    'http://[::]:80',
    'http://0:80',
  ])
    expect(() => publicUrlOf(said), said).toThrow(/^--public-url is /);
});

it('the printed addresses can be opened', () => {
  const place = { host: '127.0.0.1', bound: '127.0.0.1', port: 7777, publicUrl: undefined };
  const at = (more: Partial<Parameters<typeof openAddresses>[0]>): string[] =>
    openAddresses({ ...place, own: ['10.0.0.5', '2001:db8::5'], ...more });
  expect(at({})).toEqual(['http://127.0.0.1:7777']);
  expect(at({ host: '::1', bound: '::1' })).toEqual(['http://[::1]:7777']);
  expect(at({ host: 'annas-laptop', bound: '10.0.0.5' })).toEqual(['http://annas-laptop:7777']);
  const any = ['http://localhost:7777', 'http://10.0.0.5:7777', 'http://[2001:db8::5]:7777'];
  for (const [host, bound] of [
    ['0.0.0.0', '0.0.0.0'],
    ['0', '0.0.0.0'],
    ['::', '::'],
    ['0::0', '::'],
  ] as const)
    expect(at({ host, bound })).toEqual(any);
  const publicUrl = publicUrlOf('https://bus.example.org');
  expect(at({ host: '0.0.0.0', bound: '0.0.0.0', publicUrl })).toEqual(['https://bus.example.org']);
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
  expect(cookiesIn('a=1; crosstalk-77=x=y; b=2', 'crosstalk-77')).toEqual(['x=y']);
  expect(cookiesIn('crosstalk-77=; crosstalk-77=x', 'crosstalk-77')).toEqual(['', 'x']);
  expect(cookiesIn('xcrosstalk-77=1', 'crosstalk-77')).toEqual([]);
  expect(cookiesIn(undefined, 'crosstalk-77')).toEqual([]);
});
