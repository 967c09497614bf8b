import { type MessageRef, isChannelId, isName, isRelPath } from '../layout.ts';

/** Mail of a host: its actor, its first message, and the time since it waits. */
export interface ReportedMail extends MessageRef {
  actor: string;
  /** ISO 8601 in UTC. */
  since: string;
}

/** Number of deliveries in a state, and examples. */
export interface Reported {
  count: number;
  /** The first of them, at most 8. */
  messages: ReportedMail[];
}

/** An actor shared with other hosts whose work a host cannot take at the moment. */
export interface HostAway {
  actor: string;
  /** A code, such as `paused` or `rate_limited`. */
  reason: string;
  /** ISO 8601 in UTC; absent if somebody has to end it. */
  until?: string;
}

/** Running, waiting and failed deliveries of a host. */
export interface HostState {
  running: Reported;
  waiting: Reported;
  failed: Reported;
  /** At most 8 actors; absent for none. */
  away?: HostAway[];
}

/**
 * A dispatcher's report about its host on the bus (protocol.md §6). Anybody who can push may write it in the
 * host's name, so it is displayed and decides nothing.
 */
export interface HostReport extends HostState {
  /** Time of writing, by the clock of that host: ISO 8601 in UTC. */
  at: string;
}

const MOST_MESSAGES = 8;
const MOST_COUNTED = 1_000_000;
/** Most bytes of a report: a dispatcher writes less than 5 KiB. */
const MAX_BYTES = 16 * 1024;
const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/;

/** Counts mail, and returns the first of it as examples. */
export function reportedMail(mail: readonly ReportedMail[]): Reported {
  return { count: Math.min(mail.length, MOST_COUNTED), messages: mail.slice(0, MOST_MESSAGES) };
}

/** Formats a report as it is written on the bus. */
export function formatHostReport({ at, ...state }: HostReport): string {
  const { running, waiting, failed, away = [] } = state;
  const more = away.length > 0 && { away: away.slice(0, MOST_MESSAGES) };
  return `${JSON.stringify({ at, running, waiting, failed, ...more }, undefined, 1)}\n`;
}

/** Parses a report that anybody may have pushed; undefined for anything else. */
export function parseHostReport(bytes: Uint8Array): HostReport | undefined {
  if (bytes.byteLength > MAX_BYTES) return undefined;
  try {
    const { at, ...said } = asRecord(JSON.parse(new TextDecoder().decode(bytes)));
    const [running, waiting, failed] = [said['running'], said['waiting'], said['failed']].map(
      parseReported,
    );
    if (!isTime(at) || !running || !waiting || !failed) return undefined;
    const away = parseAway(said['away']);
    return { at, running, waiting, failed, ...(away.length > 0 && { away }) };
  } catch {
    return undefined;
  }
}

/** Whether two reports differ in more than their time. */
export function saysTheSame(one: HostState, other: HostState): boolean {
  const text = ({ running, waiting, failed, away = [] }: HostState): string =>
    JSON.stringify([running, waiting, failed, away]);
  return text(one) === text(other);
}

function parseReported(value: unknown): Reported | undefined {
  const { count, messages } = asRecord(value);
  if (typeof count !== 'number' || !Number.isInteger(count)) return undefined;
  if (count < 0 || count > MOST_COUNTED || !Array.isArray(messages)) return undefined;
  return {
    count,
    messages: messages.slice(0, MOST_MESSAGES).flatMap((one) => parseMail(one) ?? []),
  };
}

function parseMail(value: unknown): ReportedMail | undefined {
  const { actor, channel, relPath, since } = asRecord(value);
  return isName(actor) && isChannelId(channel) && isRelPath(relPath) && isTime(since)
    ? { actor, channel, relPath, since }
    : undefined;
}

function parseAway(value: unknown): HostAway[] {
  const all: unknown[] = Array.isArray(value) ? value.slice(0, MOST_MESSAGES) : [];
  return all.flatMap((one): HostAway[] => {
    const { actor, reason, until } = asRecord(one);
    if (!isName(actor) || typeof reason !== 'string' || !/^[a-z_]{1,40}$/.test(reason)) return [];
    return [{ actor, reason, ...(isTime(until) && { until }) }];
  });
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && UTC.test(value) && !Number.isNaN(Date.parse(value));
}

/** Returns the fields of an object; none for any other value. */
function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
