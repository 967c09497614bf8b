import type { Commit } from '../protocol/outgoing.ts';
import { isSha256 } from '../protocol/attached.ts';
import type { FoundSecret } from '../protocol/text/secrets.ts';
import { isRecord } from './files.ts';

/** The delivery that a finished run answered: settled once its reply is on the remote. */
interface DeliveryRecord {
  actor: string;
  channel: string;
  /** relPaths of the batch. */
  messages: string[];
  /** The messages that it settles in other channels: an answer goes to the channel of its question. */
  elsewhere?: { channel: string; messages: string[] }[];
  /** The dead letter that this was a retry of. */
  deadLetter?: string;
}

/**
 * An entry to publish, byte for byte final (protocol.md §5): from the moment it is in the outbox a crash
 * cannot lose it, and no CLI is run a second time for it.
 */
export interface OutboxEntry {
  /** A ULID: entries are published in the order of their ids. */
  id: string;
  commits: Commit[];
  delivery?: DeliveryRecord;
  /** Whether a person releases it although it seems to contain a secret. */
  allowed?: true;
  /** Whether it was on the bus before, and lost there. */
  again?: true;
}

/** An entry that seems to contain a secret: a person releases or drops it. */
export interface HeldEntry extends OutboxEntry {
  /** The secrets found; they are not shown anywhere. */
  held: FoundSecret[];
  /** Start of the hold; ISO 8601 UTC. */
  at: string;
  /** Whether the askers were notified, if it is an answer. */
  told?: true;
}

/** An entry that cannot be published in its present form: a person decides. */
export interface SetAside extends OutboxEntry {
  /** The reason, in one line. */
  reason: string;
  /** Time when it was set aside; ISO 8601 UTC. */
  at: string;
}

/** Returns the messages that an entry settles, channel by channel. */
export function settledBy({
  actor,
  channel,
  messages,
  elsewhere = [],
}: DeliveryRecord): { actor: string; channel: string; messages: string[] }[] {
  return [{ channel, messages }, ...elsewhere].map((part) => ({ actor, ...part }));
}

/** Whether an entry has attached files. */
export function hasFiles({ commits }: Pick<OutboxEntry, 'commits'>): boolean {
  return commits.some(({ blobs }) => blobs !== undefined);
}

/**
 * Parses the commits of a JSON text, such as another clone's; undefined when it is not ours, or when they
 * name files, whose bytes only that clone has.
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
  const { path, oid, orAbsent } = value;
  const isFlag = orAbsent === undefined || orAbsent === true;
  return typeof path === 'string' && (oid === null || typeof oid === 'string') && isFlag;
}
