import { isName } from '../protocol/layout.ts';

/**
 * A machine's statement about itself, sent over the bell. Anybody who reaches the server may send it in the
 * machine's name, so it is displayed and decides nothing.
 */
export interface Beat {
  /** Its alias. */
  host: string;
  version: string;
  /** Seconds until the next beat, at the latest. */
  every: number;
  /** The actors that it serves. */
  actors: string[];
  /** The actors that are working, one entry for each run. */
  running: string[];
  /** Number of tiers that hold their mail back. */
  held: number;
}

const MAX_BEAT_BYTES = 16 * 1024;
/** Most names in one list; of more, only the first are sent. */
const MOST_NAMES = 100;
/** A version as npm allows it, within reason. */
const VERSION = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:[-+][0-9A-Za-z.+-]{1,32})?$/;
/** Longest interval that may be sent, in seconds: a dispatcher may be set to fetch once a day. */
const LONGEST_SAID_S = 86_400;
/** Longest interval that is believed, in seconds: a machine is shown as live for three times as long after a beat. */
const LONGEST_EVERY_S = 3600;
const MOST_HELD = 10_000;

export function formatBeat({ host, version, every, actors, running, held }: Beat): string {
  return JSON.stringify({
    ...{ host, version, every: Math.ceil(every), held: Math.min(held, MOST_HELD) },
    actors: actors.slice(0, MOST_NAMES),
    running: running.slice(0, MOST_NAMES),
  });
}

/** Parses a beat that anybody may have sent; undefined for anything else. */
export function parseBeat(bytes: Uint8Array): Beat | undefined {
  const { host, version, every, actors, running, held } = parseSmall(bytes, MAX_BEAT_BYTES) ?? {};
  if (!isName(host) || typeof version !== 'string' || !VERSION.test(version)) return undefined;
  if (!isCount(every, LONGEST_SAID_S) || !isCount(held, MOST_HELD)) return undefined;
  if (!isNames(actors) || !isNames(running)) return undefined;
  return { host, version, every: Math.min(every, LONGEST_EVERY_S), actors, running, held };
}

function isCount(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MOST_NAMES && value.every(isName);
}

/**
 * A notice of one machine to the others after a push: the bus is at another commit, and these hosts have new
 * mail. It is only a hint: the content of the bus is read from git.
 */
interface Ring {
  /** The commit that was pushed. */
  tip: string;
  /** The aliases of the hosts that have mail; several rings may name the same host. */
  hosts: string[];
}

/** Most bytes of one ring; a larger one is not read. */
const MAX_RING_BYTES = 16 * 1024;
/** Most hosts that one ring names: 200 of 64 characters fit. */
const MOST_HOSTS = 200;

/** Returns the rings for a push, each small enough to be accepted. */
export function formatRings({ tip, hosts }: Ring): string[] {
  const rings: string[] = [];
  let at = 0;
  do {
    rings.push(JSON.stringify({ tip, for: hosts.slice(at, at + MOST_HOSTS) }));
    at += MOST_HOSTS;
  } while (at < hosts.length);
  return rings;
}

/** Parses a ring that anybody may have sent; undefined for anything else. */
export function parseRing(bytes: Uint8Array): Ring | undefined {
  const value = parseSmall(bytes, MAX_RING_BYTES);
  if (value === undefined) return undefined;
  const { tip, for: hosts } = value;
  if (typeof tip !== 'string' || !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(tip)) return undefined;
  if (!Array.isArray(hosts) || hosts.length > MOST_HOSTS) return undefined;
  return hosts.every(isName) ? { tip, hosts } : undefined;
}

/** Parses some bytes as a JSON object; undefined if they are not one, or are more than `limit` bytes. */
function parseSmall(bytes: Uint8Array, limit: number): Record<string, unknown> | undefined {
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
