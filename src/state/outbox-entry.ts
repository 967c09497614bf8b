import type { Commit } from '../protocol/commit.ts';
import { isSha256 } from '../protocol/attached.ts';
import type { FoundSecret } from '../protocol/text/secrets.ts';
import { isRecord } from './files.ts';

/** What a finished run delivered: settled once its reply is on the remote. */
interface DeliveryRecord {
  actor: string;
  channel: string;
  /** relPaths of the batch. */
  messages: string[];
  /** What it settles in other channels: an answer goes to the channel of its question. */
  elsewhere?: { channel: string; messages: string[] }[];
  /** The dead letter this was a retry of. */
  deadLetter?: string;
}

/**
 * Something to publish, final to the byte (protocol.md §5): from the moment it is in the outbox a
 * crash cannot lose it, and no CLI is run a second time for it.
 */
export interface OutboxEntry {
  /** A ULID: entries leave in the order they came. */
  id: string;
  commits: Commit[];
  delivery?: DeliveryRecord;
  /** A person lets go what looks like a secret in it. */
  allowed?: true;
  /** It was on the bus before, and lost there. */
  again?: true;
}

/** An entry that holds what looks like a secret: a person lets it go, or drops it. */
export interface HeldEntry extends OutboxEntry {
  /** What was found; it is not shown anywhere. */
  held: FoundSecret[];
  /** Since when; ISO 8601 UTC. */
  at: string;
  /** Whether those who wait for it were told, if it is an answer. */
  told?: true;
}

/** An entry that can't be published as it is: a person decides. */
export interface SetAside extends OutboxEntry {
  /** Why, in one line. */
  reason: string;
  /** Since when; ISO 8601 UTC. */
  at: string;
}

/** What an entry settles, channel by channel. */
export function settledBy({
  actor,
  channel,
  messages,
  elsewhere = [],
}: DeliveryRecord): { actor: string; channel: string; messages: string[] }[] {
  return [{ channel, messages }, ...elsewhere].map((part) => ({ actor, ...part }));
}

/** Whether an entry brings files of any bytes along. */
export function hasFiles({ commits }: Pick<OutboxEntry, 'commits'>): boolean {
  return commits.some(({ blobs }) => blobs !== undefined);
}

/**
 * The commits of a JSON text, such as another clone's; undefined when it is none of ours, or when
 * they name files, whose bytes only that clone has.
 */
export function parseCommits(text: string): Commit[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value) || !value.every(isCommit)) return undefined;
    const commits = value as Commit[];
    return commits.some(({ blobs }) => blobs !== undefined) ? undefined : commits;
  } catch {
    return undefined;
  }
}

function isCommit(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['author']) || !Array.isArray(value['files']))
    return false;
  const { at, subject, author, files, optional, requires = [], blobs = [] } = value;
  return (
    Array.isArray(blobs) &&
    blobs.every(isBlob) &&
    Array.isArray(requires) &&
    requires.every(isRequirement) &&
    (optional === undefined || optional === true) &&
    [at, subject, author['name'], author['email']].every((text) => typeof text === 'string') &&
    files.every(
      (file) =>
        isRecord(file) && typeof file['path'] === 'string' && typeof file['content'] === 'string',
    )
  );
}

function isBlob(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { path, sha256, bytes, kept, oid } = value;
  const isWhere = [kept, oid].every((one) => one === undefined || typeof one === 'string');
  return typeof path === 'string' && isSha256(sha256) && typeof bytes === 'number' && isWhere;
}

function isRequirement(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { path, oid } = value;
  return typeof path === 'string' && (oid === null || typeof oid === 'string');
}
