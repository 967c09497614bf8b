import { isName } from '../protocol/names.ts';

/**
 * What a machine says of itself by the bell. Anybody who reaches the server may say it in its place, so
 * it is shown and decides nothing.
 */
export interface Beat {
  /** Its alias. */
  host: string;
  version: string;
  /** Seconds after which it says so again, at the latest. */
  every: number;
  /** The actors that it serves. */
  actors: string[];
  /** The actors that are at work, one for each run. */
  running: string[];
  /** How many tiers hold their mail back. */
  held: number;
}

const MAX_BEAT_BYTES = 16 * 1024;
/** The most names in one list; with more, the first ones are said. */
const MOST_NAMES = 100;
/** A version as npm allows it, within reason. */
const VERSION = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:[-+][0-9A-Za-z.+-]{1,32})?$/;
/** What may be said; a dispatcher may be told to look once a day. */
const LONGEST_SAID_S = 86_400;
/** What is believed: a machine is shown as live for three times as long after a single beat. */
const LONGEST_EVERY_S = 3600;
const MOST_HELD = 10_000;

export function formatBeat({ host, version, every, actors, running, held }: Beat): string {
  return JSON.stringify({
    ...{ host, version, every: Math.ceil(every), held: Math.min(held, MOST_HELD) },
    actors: actors.slice(0, MOST_NAMES),
    running: running.slice(0, MOST_NAMES),
  });
}

/** Reads a beat that anybody may have sent; undefined for whatever is none. */
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
 * What one machine tells the others after a push: that the bus is at another commit, and whose mail is
 * new. It is a hint and no more: what is on the bus is read from git.
 */
interface Ring {
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
