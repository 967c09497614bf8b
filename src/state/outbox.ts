import { JsonFolder, isRecord } from './files.ts';

/** What a finished run delivered: settled once its reply is on the remote. */
interface DeliveryRecord {
  actor: string;
  channel: string;
  /** relPaths of the batch. */
  messages: string[];
  /** The dead letter this was a retry of. */
  deadLetter?: string;
}

/** One commit to be made; structurally the transport edge's. */
export interface OutboxCommit {
  /** ISO 8601 UTC; the date of the commit. */
  at: string;
  author: { name: string; email: string };
  subject: string;
  files: { path: string; content: string }[];
  /** A folder emptied first. */
  clear?: string;
}

/**
 * Something to publish, final to the byte (protocol.md §5): from the moment it is in the outbox a
 * crash cannot lose it, and no CLI is run a second time for it.
 */
export interface OutboxEntry {
  /** A ULID: entries leave in the order they came. */
  id: string;
  commits: OutboxCommit[];
  delivery?: DeliveryRecord;
}

export class Outbox {
  readonly #folder: JsonFolder<OutboxEntry>;

  constructor(folder: string) {
    this.#folder = new JsonFolder(folder, parseEntry);
  }

  put(entry: OutboxEntry): Promise<void> {
    return this.#folder.put(entry);
  }
  get(id: string): Promise<OutboxEntry | undefined> {
    return this.#folder.get(id);
  }
  all(): Promise<OutboxEntry[]> {
    return this.#folder.all();
  }
  remove(id: string): Promise<void> {
    return this.#folder.remove(id);
  }
  broken(): Promise<string[]> {
    return this.#folder.broken();
  }
}

function parseEntry(value: unknown): OutboxEntry | undefined {
  if (!isRecord(value) || typeof value['id'] !== 'string' || !Array.isArray(value['commits']))
    return undefined;
  return value['commits'].every(isCommit) ? (value as unknown as OutboxEntry) : undefined;
}

/** The commits of a JSON text, such as another clone's; undefined when it is none of ours. */
export function parseCommits(text: string): OutboxCommit[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isCommit) ? (value as OutboxCommit[]) : undefined;
  } catch {
    return undefined;
  }
}

function isCommit(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['author']) || !Array.isArray(value['files']))
    return false;
  const { at, subject, author, files } = value;
  return (
    [at, subject, author['name'], author['email']].every((text) => typeof text === 'string') &&
    files.every(
      (file) =>
        isRecord(file) && typeof file['path'] === 'string' && typeof file['content'] === 'string',
    )
  );
}
