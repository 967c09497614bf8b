import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

/** Where the server listens, as far as it matters for admitting requests. */
export interface Door {
  /** The value of `--host`. */
  host: string;
  port: number;
  /** This machine's name. */
  hostname: string;
}

/** What a request declares about its origin. */
export interface Origin {
  host: string | undefined;
  origin: string | undefined;
  site: string | undefined;
}

const ANY = new Set(['0.0.0.0', '::']);

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Whether a `Host` header names this server. A page of another site whose name resolves to this
 * machine (DNS rebinding) cannot send such a header, because its browser sends that site's name.
 */
export function isOurHost(header: string | undefined, door: Door): boolean {
  const found = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(header ?? '');
  if (found === null || Number(found[2] ?? 80) !== door.port) return false;
  const name = (found[1] ?? '').replace(/^\[|\]$/g, '').toLowerCase();
  if (name === door.host.toLowerCase()) return true;
  if (isLoopback(door.host)) return isLoopback(name);
  if (name === door.hostname.toLowerCase()) return true;
  return ANY.has(door.host) && (isIP(name) !== 0 || name === 'localhost');
}

/**
 * Whether the request comes from one of our pages, or from no page at all. Browsers declare where a
 * request comes from, and no page can change that.
 *
 * @param strict whether the request is authorised by a cookie, which a browser sends automatically,
 *   so that it has to declare its origin
 */
export function isOurOrigin({ host, origin, site }: Origin, strict: boolean): boolean {
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin !== undefined) return origin === `http://${host ?? ''}`;
  return site !== undefined || !strict;
}

/** The value of the cookie, which does not reveal the token. */
export function cookieOf(token: string): string {
  return createHash('sha256').update(`crosstalk web cookie ${token}`).digest('base64url');
}

/** Compares in a time that does not depend on where the texts differ. */
export function isSame(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** The value of one cookie in a `Cookie` header. */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [key, ...value] = part.trim().split('=');
    if (key === name) return value.join('=');
  }
  return undefined;
}

/** A path of the page if it is safe to write into HTML; otherwise the path of the start page. */
export function pagePath(path: string): string {
  return /^(\/([A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)+\/?$/.test(path) ? path : '/';
}
