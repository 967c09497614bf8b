import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { CrosstalkError } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';

/** The addresses of the server, as far as admitting requests depends on them. */
export interface Door {
  /** The value of `--host`. */
  host: string;
  /** The address that it resolves to. */
  bound: string;
  port: number;
  /** This machine's name. */
  hostname: string;
  /** The value of `--public-url`: the address under which a tunnel or proxy exposes the server. */
  publicUrl?: URL | undefined;
}

/** The statement of a request about its origin. */
export interface Origin {
  host: string | undefined;
  origin: string | undefined;
  site: string | undefined;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Returns the kind of the name by which a `Host` header addresses this server: that of its own socket
 * (`own`), or its public address; undefined for any other name. A page of another site whose name
 * resolves to this machine (DNS rebinding) cannot send such a header, because its browser sends that
 * site's name. A loopback name with another port than ours belongs to another server on this machine,
 * unless the operator configured it as the public address.
 */
export function whoseHost(header: string | undefined, door: Door): 'own' | 'public' | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(header ?? '');
  if (found === null) return undefined;
  const name = bare(found[1] ?? '');
  const { publicUrl } = door;
  if (Number(found[2] ?? 80) === door.port && isOwnName(name, door)) return 'own';
  if (publicUrl === undefined || Number(found[2] ?? defaultPort(publicUrl)) !== portOf(publicUrl))
    return undefined;
  const wanted = bare(publicUrl.hostname);
  return name === wanted || (isLoopback(name) && isLoopback(wanted)) ? 'public' : undefined;
}

function isOwnName(name: string, { host, bound, hostname }: Door): boolean {
  if (name === host.toLowerCase()) return true;
  if (isLoopback(host)) return isLoopback(name);
  if (name === hostname.toLowerCase()) return true;
  return isAny(bound) && (isIP(name) !== 0 || name === 'localhost');
}

function bare(name: string): string {
  return name.replace(/^\[|\]$/g, '').toLowerCase();
}

function defaultPort({ protocol }: URL): number {
  return protocol === 'https:' ? 443 : 80;
}

/** Returns the port of a public address. */
export function portOf(url: URL): number {
  return url.port === '' ? defaultPort(url) : Number(url.port);
}

/**
 * Whether the request comes from one of our pages, or from no page at all. Browsers declare where a
 * request comes from, and no page can change that. A proxy may write another `Host` than the browser
 * did, so a page of the public address is one of ours whatever the `Host` is.
 *
 * @param strict whether the request is authorised by a cookie, which a browser sends automatically,
 *   so that it has to declare its origin
 */
export function isOurOrigin(
  { host = '', origin, site }: Origin,
  strict: boolean,
  door: Door,
): boolean {
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return site !== undefined || !strict;
  const { publicUrl } = door;
  if (origin === publicUrl?.origin) return true;
  const isPublic = whoseHost(host, door) === 'public';
  return origin === `${isPublic ? (publicUrl?.protocol ?? '') : 'http:'}//${host.toLowerCase()}`;
}

/** Compares two texts in a time that does not depend on the position of a difference. */
export function isSame(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/**
 * Returns the values of the cookies with a name in a `Cookie` header. There may be several: cookies are
 * not separated by port, so a page of another server on this machine can add some, and put them first.
 */
export function cookiesIn(header: string | undefined, name: string): string[] {
  return (header ?? '').split(';').flatMap((part) => {
    const [key, ...value] = part.trim().split('=');
    return key === name ? [value.join('=')] : [];
  });
}

/** Returns a path of the page if it is safe to write into HTML; otherwise the path of the start page. */
export function pagePath(path: string): string {
  return /^(\/([A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)+\/?$/.test(path) ? path : '/';
}

const ANY = new Set(['0.0.0.0', '::']);
/** Maximum number of shown addresses of this machine. */
const SHOWN = 4;

/** Whether a server that listens on this address listens on all addresses of the machine. */
function isAny(bound: string): boolean {
  return ANY.has(bound);
}

/**
 * Parses the address under which a tunnel or proxy exposes the server.
 *
 * @param said the value of `--public-url`
 * @throws CrosstalkError `usage` for an invalid one
 */
export function publicUrlOf(said: string): URL {
  const url = URL.canParse(said) && !/[\s\\]/.test(said) ? new URL(said) : undefined;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  const name = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  // A user, path, query or fragment is not allowed.
  if (url?.href === `${url?.origin ?? ''}/` && isWeb && !isAny(name)) return url;
  throw new CrosstalkError(
    'usage',
    `--public-url is ${shown(said)}, expected what comes before the path in the browser: http://localhost:8080, https://bus.example.org`,
  );
}

/**
 * Returns the addresses at which a browser finds the server, without paths; the first one works on this
 * machine, or is the public one.
 *
 * @param place `bound`: the address that the server listens on; `own`: those of this machine
 */
export function openAddresses(place: {
  host: string;
  bound: string;
  port: number;
  publicUrl: URL | undefined;
  own?: readonly string[];
}): string[] {
  const { host, bound, port, publicUrl, own = ownAddresses(bound) } = place;
  if (publicUrl !== undefined) return [publicUrl.origin];
  const names = isAny(bound) ? ['localhost', ...own.slice(0, SHOWN)] : [host];
  return names.map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${String(port)}`);
}

/** Lists the addresses by which others can reach this machine, those of IPv4 first. */
function ownAddresses(bound: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const reachable = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  const of = (family: string): string[] =>
    reachable.filter((one) => one.family === family).map(({ address }) => address);
  return bound === '::' ? [...of('IPv4'), ...of('IPv6')] : of('IPv4');
}
