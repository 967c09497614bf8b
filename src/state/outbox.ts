import type { Commit } from '../protocol/commit.ts';
import { rm } from 'node:fs/promises';
import { Emitter } from '../emitter.ts';
import { isRecord, JsonFolder, readJson, writeDurably } from './files.ts';

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

/** What an entry settles, channel by channel. */
export function settledBy({
  actor,
  channel,
  messages,
  elsewhere = [],
}: DeliveryRecord): { actor: string; channel: string; messages: string[] }[] {
  return [{ channel, messages }, ...elsewhere].map((part) => ({ actor, ...part }));
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
}

/** An entry that can't be published as it is: a person decides. */
export interface SetAside extends OutboxEntry {
  /** Why, in one line. */
  reason: string;
  /** Since when; ISO 8601 UTC. */
  at: string;
}

/** Beside the outbox, so that no older version takes it for part of it. */
const ASIDE = '-set-aside';
const TOGETHER = '-together.json';

/** Paths that are remembered; then some may be forgotten. */
const MAX_REMEMBERED = 200_000;

export interface OutboxEvents {
  /** This process puts an entry, or sees it for the first time. */
  seen: [entry: OutboxEntry];
}

/** What this machine has yet to publish: a JSON file for each entry, written durably. */
export class Outbox {
  readonly #remembered = new Set<string>();
  readonly #folder: JsonFolder<OutboxEntry>;
  readonly #aside: JsonFolder<SetAside>;
  readonly #together: string;
  readonly events = new Emitter<OutboxEvents>();

  constructor(folder: string) {
    this.#folder = new JsonFolder(folder, parseEntry);
    this.#aside = new JsonFolder(`${folder}${ASIDE}`, parseAside);
    this.#together = `${folder}${TOGETHER}`;
  }

  put(entry: OutboxEntry): Promise<void> {
    this.#remember(entry);
    return this.#folder.put(entry);
  }
  /** Puts entries of which none may stay away: when this process is killed, {@link finish} goes on. */
  async putAll(entries: readonly OutboxEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await writeDurably(this.#together, JSON.stringify(entries));
    await this.finish();
  }
  /** Puts what {@link putAll} was putting; what was published meanwhile is found there once more. */
  async finish(): Promise<void> {
    const value = (await readJson(this.#together))?.value;
    for (const one of Array.isArray(value) ? (value as unknown[]) : []) {
      const entry = parseEntry(one);
      if (entry !== undefined) await this.put(entry);
    }
    await rm(this.#together, { force: true });
  }
  get(id: string): Promise<OutboxEntry | undefined> {
    return this.#folder.get(id);
  }
  async all(): Promise<OutboxEntry[]> {
    const entries = await this.#folder.all();
    for (const entry of entries) this.#remember(entry);
    return entries;
  }
  isEmpty(): Promise<boolean> {
    return this.#folder.isEmpty();
  }
  /** Whether a file was in an entry that this process has put or seen. */
  hasHeld(path: string): boolean {
    return this.#remembered.has(path);
  }
  #remember(entry: OutboxEntry): void {
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear();
    const paths = entry.commits.flatMap(({ files }) => files.map(({ path }) => path));
    const isSeen = paths.every((path) => this.#remembered.has(path));
    for (const path of paths) this.#remembered.add(path);
    if (!isSeen) this.events.emit('seen', entry);
  }
  remove(id: string): Promise<void> {
    return this.#folder.remove(id);
  }
  /**
   * Takes an entry out that can't be published as it is, and keeps it with the reason. It stands in one
   * place at any time: an operator may put it back at this very moment.
   *
   * @param at ISO 8601 UTC
   */
  async setAside(entry: OutboxEntry, reason: string, at: string): Promise<void> {
    const aside: SetAside = { ...entry, reason, at };
    await this.#folder.put(aside);
    await this.#folder.move(entry.id, this.#aside);
  }
  /** What was taken out, and why. */
  aside(): Promise<SetAside[]> {
    return this.#aside.all();
  }
  /** Puts what was taken out back, to be published again; returns how many entries there were. */
  async restore(): Promise<number> {
    let restored = 0;
    for (const { id } of await this.#aside.all())
      if (await this.#aside.move(id, this.#folder)) restored++;
    return restored;
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

function parseAside(value: unknown): SetAside | undefined {
  const entry = parseEntry(value);
  if (entry === undefined || !isRecord(value)) return undefined;
  const { reason, at } = value;
  return typeof reason === 'string' && typeof at === 'string'
    ? { ...entry, reason, at }
    : undefined;
}

/** The commits of a JSON text, such as another clone's; undefined when it is none of ours. */
export function parseCommits(text: string): Commit[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isCommit) ? (value as Commit[]) : undefined;
  } catch {
    return undefined;
  }
}

function isCommit(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['author']) || !Array.isArray(value['files']))
    return false;
  const { at, subject, author, files, requires = [] } = value;
  return (
    Array.isArray(requires) &&
    requires.every(isRequirement) &&
    [at, subject, author['name'], author['email']].every((text) => typeof text === 'string') &&
    files.every(
      (file) =>
        isRecord(file) && typeof file['path'] === 'string' && typeof file['content'] === 'string',
    )
  );
}

function isRequirement(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { path, oid } = value;
  return typeof path === 'string' && (oid === null || typeof oid === 'string');
}
