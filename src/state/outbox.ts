import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { passed } from '../crash-points.ts';
import { Emitter } from '../emitter.ts';
import { JsonFolder, readJson, writeDurably } from './files.ts';
import {
  hasFiles,
  parseAside,
  parseEntry,
  type OutboxEntry,
  type SetAside,
} from './outbox-entry.ts';
import { SideFiles } from './side-files.ts';

export { hasFiles, settledBy, parseCommits } from './outbox-entry.ts';
export type { OutboxEntry };

/** Beside the outbox, so that no older version takes it for part of it. */
const ASIDE = '-set-aside';
const TOGETHER = '-together.json';
/**
 * Inside the outbox, where older versions look only for entries: one of them would publish a message
 * without its files. So these entries wait for a version that knows of files.
 */
const WITH_FILES = 'with-files';
const SIDE_FILES = 'files';

/** Paths that are remembered; then some may be forgotten. */
const MAX_REMEMBERED = 200_000;

export interface OutboxEvents {
  /** This process puts an entry, or sees it for the first time. */
  seen: [entry: OutboxEntry];
}

/** Is told of each entry before it is put. */
interface Recorder {
  note: (entry: OutboxEntry) => Promise<void>;
}

/** What this machine has yet to publish: a JSON file for each entry, written durably. */
export class Outbox {
  readonly #remembered = new Set<string>();
  readonly #plain: Shelf;
  readonly #withFiles: Shelf;
  readonly #together: string;
  /** The folders in which files are written. */
  readonly folders: readonly string[];
  /** The bytes of the files that entries name. */
  readonly files: SideFiles;
  readonly events = new Emitter<OutboxEvents>();

  readonly #written: Recorder | undefined;

  /** @param written where what this machine writes is recorded; not what it publishes again */
  constructor(folder: string, written?: Recorder) {
    this.#written = written;
    this.#plain = shelfAt(folder);
    this.#withFiles = shelfAt(join(folder, WITH_FILES));
    this.#together = `${folder}${TOGETHER}`;
    this.files = new SideFiles(join(folder, SIDE_FILES));
    this.folders = [folder, join(folder, WITH_FILES), join(folder, SIDE_FILES)];
  }

  /** The files that an entry names are written before, to {@link files}. */
  async put(entry: OutboxEntry): Promise<void> {
    await this.#written?.note(entry);
    await this.#putAgain(entry);
  }
  #putAgain(entry: OutboxEntry): Promise<void> {
    this.#remember(entry);
    return this.#shelfOf(entry).waiting.put(entry);
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
      if (entry !== undefined) await this.#putAgain(entry);
    }
    await rm(this.#together, { force: true });
  }
  async get(id: string): Promise<OutboxEntry | undefined> {
    return (await this.#plain.waiting.get(id)) ?? this.#withFiles.waiting.get(id);
  }
  async all(): Promise<OutboxEntry[]> {
    const entries = inOrder(await this.#plain.waiting.all(), await this.#withFiles.waiting.all());
    for (const entry of entries) this.#remember(entry);
    return entries;
  }
  async isEmpty(): Promise<boolean> {
    return (await this.#plain.waiting.isEmpty()) && (await this.#withFiles.waiting.isEmpty());
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
  async remove(id: string): Promise<void> {
    await this.#plain.waiting.remove(id);
    if (!(await this.#withFiles.waiting.has(id))) return;
    await this.#withFiles.waiting.remove(id);
    passed('entry_with_files_removed');
    await this.files.remove(id);
  }
  /** Removes the bytes that no entry names, which a process left that died. */
  async sweepFiles(now: Date): Promise<void> {
    const { waiting, aside } = this.#withFiles;
    await this.files.sweep(new Set([...(await waiting.ids()), ...(await aside.ids())]), now);
  }
  /**
   * Takes an entry out that can't be published as it is, and keeps it with the reason. It stands in one
   * place at any time: an operator may put it back at this very moment.
   *
   * @param at ISO 8601 UTC
   */
  async setAside(entry: OutboxEntry, reason: string, at: string): Promise<void> {
    const item: SetAside = { ...entry, reason, at };
    const { waiting, aside } = this.#shelfOf(entry);
    await waiting.put(item);
    await waiting.move(entry.id, aside);
  }
  /** What was taken out, and why. */
  async aside(): Promise<SetAside[]> {
    return inOrder(await this.#plain.aside.all(), await this.#withFiles.aside.all());
  }
  /** Puts what was taken out back, to be published again; returns how many entries there were. */
  async restore(): Promise<number> {
    let restored = 0;
    for (const { waiting, aside } of [this.#plain, this.#withFiles])
      for (const { id } of await aside.all()) if (await aside.move(id, waiting)) restored++;
    return restored;
  }
  async broken(): Promise<string[]> {
    const [plain, withFiles] = [this.#plain.waiting, this.#withFiles.waiting];
    return [...(await plain.broken()), ...(await withFiles.broken())];
  }
  #shelfOf(entry: OutboxEntry): Shelf {
    return hasFiles(entry) ? this.#withFiles : this.#plain;
  }
}

/** Entries that are to be published, and those of them that were set aside. */
interface Shelf {
  waiting: JsonFolder<OutboxEntry>;
  aside: JsonFolder<SetAside>;
}

function shelfAt(folder: string): Shelf {
  return {
    waiting: new JsonFolder(folder, parseEntry),
    aside: new JsonFolder(`${folder}${ASIDE}`, parseAside),
  };
}

function inOrder<T extends { id: string }>(some: T[], others: T[]): T[] {
  if (others.length === 0) return some;
  return [...some, ...others].sort((a, b) => (a.id < b.id ? -1 : 1));
}
