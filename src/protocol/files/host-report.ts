import type { MessageRef } from '../message-ref.ts';
import { isChannelId, isName, isRelPath } from '../names.ts';

/** Mail of a host: which actor it is for, the first message of it, and since when. */
export interface ReportedMail extends MessageRef {
  actor: string;
  /** ISO 8601 in UTC. */
  since: string;
}

/** How much of something there is. */
export interface Reported {
  count: number;
  /** The first of it, at most 8. */
  messages: ReportedMail[];
}

/** What runs, waits and has failed on a host. */
export interface HostState {
  running: Reported;
  waiting: Reported;
  failed: Reported;
}

/**
 * What a dispatcher says of its host on the bus (protocol.md §6). Anybody who can push may say it in its
 * place, so it is shown and decides nothing.
 */
export interface HostReport extends HostState {
  /** When it was written, by the clock of that host: ISO 8601 in UTC. */
  at: string;
}

const MOST_MESSAGES = 8;
const MOST_COUNTED = 1_000_000;
/** A report takes less than 5 KiB; whatever is longer was not written by a dispatcher. */
const MAX_BYTES = 16 * 1024;
const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/;

/** Counts mail, and keeps the first of it. */
export function reportedMail(mail: readonly ReportedMail[]): Reported {
  return { count: Math.min(mail.length, MOST_COUNTED), messages: mail.slice(0, MOST_MESSAGES) };
}

/** A report as it is written on the bus. */
export function formatHostReport({ at, running, waiting, failed }: HostReport): string {
  return `${JSON.stringify({ at, running, waiting, failed }, undefined, 1)}\n`;
}

/** Reads a report that anybody may have pushed; undefined for whatever is none. */
export function parseHostReport(bytes: Uint8Array): HostReport | undefined {
  if (bytes.byteLength > MAX_BYTES) return undefined;
  try {
    const { at, ...said } = asRecord(JSON.parse(new TextDecoder().decode(bytes)));
    const [running, waiting, failed] = [said['running'], said['waiting'], said['failed']].map(
      parseReported,
    );
    if (!isTime(at) || !running || !waiting || !failed) return undefined;
    return { at, running, waiting, failed };
  } catch {
    return undefined;
  }
}

/** Whether two reports differ in more than their time. */
export function saysTheSame(one: HostState, other: HostState): boolean {
  const text = ({ running, waiting, failed }: HostState): string =>
    JSON.stringify([running, waiting, failed]);
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

function isTime(value: unknown): value is string {
  return typeof value === 'string' && UTC.test(value) && !Number.isNaN(Date.parse(value));
}

/** The fields of an object; none of anything else. */
function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
