import { isName } from '../protocol/names.ts';

/**
 * What one machine tells the others after a push: that the bus is at another commit, and whose mail is
 * new. It is a hint and no more: what is on the bus is read from git.
 */
export interface Ring {
  /** The commit that was pushed. */
  tip: string;
  /** The aliases of the hosts that have mail; more than one ring may name them. */
  hosts: string[];
}

/** The most bytes of one ring; what is larger is not read. */
const MAX_RING_BYTES = 16 * 1024;
/** The most hosts that one ring names: 200 of 64 characters fit. */
const MOST_HOSTS = 200;

/** The rings for a push, each small enough to be heard. */
export function formatRings({ tip, hosts }: Ring): string[] {
  const rings: string[] = [];
  let at = 0;
  do {
    rings.push(JSON.stringify({ tip, for: hosts.slice(at, at + MOST_HOSTS) }));
    at += MOST_HOSTS;
  } while (at < hosts.length);
  return rings;
}

/** Reads a ring that anybody may have sent; undefined for whatever is none. */
export function parseRing(bytes: Uint8Array): Ring | undefined {
  const value = parseSmall(bytes, MAX_RING_BYTES);
  if (value === undefined) return undefined;
  const { tip, for: hosts } = value;
  if (typeof tip !== 'string' || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(tip)) return undefined;
  if (!Array.isArray(hosts) || hosts.length > MOST_HOSTS) return undefined;
  return hosts.every(isName) ? { tip, hosts } : undefined;
}

/** The JSON object in some bytes; undefined where there is none, or more than `limit` bytes. */
export function parseSmall(bytes: Uint8Array, limit: number): Record<string, unknown> | undefined {
  if (bytes.byteLength > limit) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
