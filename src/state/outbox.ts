import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { passed } from '../crash-points.ts';
import { Emitter } from '../emitter.ts';
import { isRecord, JsonFolder, readSealed, writeSealed } from './files.ts';
import { Seal } from './place/seal.ts';
import {
  hasFiles,
  parseAside,
  parseEntry,
  parseHeld,
  type HeldEntry,
  type OutboxEntry,
  type SetAside,
} from './outbox-entry.ts';
import type { FoundSecret } from '../protocol/text/found-secret.ts';
import { SideFiles } from './side-files.ts';

export { hasFiles, settledBy, parseCommits } from './outbox-entry.ts';
export type { HeldEntry, OutboxEntry };

/** Beside the outbox, so that no older version takes it for part of it. */
const ASIDE = '-set-aside';
const TOGETHER = '-together.json';
/**
 * Inside the outbox, where older versions look only for entries: one of them would publish a message
 * without its files. So these entries wait for a version that knows of files.
 */
const WITH_FILES = 'with-files';
/** Inside the outbox for the same reason: an older version would publish what holds a secret. */
const HELD = 'held';
const SIDE_FILES = 'files';

/** Paths that are remembered; then some may be forgotten. */
const MAX_REMEMBERED = 200_000;

export interface OutboxEvents {
  /** This process has put an entry, or sees it for the first time: it is on disk. */
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
  readonly #held: JsonFolder<HeldEntry>;
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
    const seal = Seal.of(folder);
    this.#plain = shelfAt(folder, seal);
    this.#withFiles = shelfAt(join(folder, WITH_FILES), seal);
    this.#held = new JsonFolder(join(folder, HELD), parseHeld, seal);
    this.#together = `${folder}${TOGETHER}`;
    this.files = new SideFiles(join(folder, SIDE_FILES));
    const inside = [WITH_FILES, HELD, SIDE_FILES].map((name) => join(folder, name));
    this.folders = [folder, ...inside];
  }

  /** The files that an entry names are written before, to {@link files}. */
  async put(entry: OutboxEntry): Promise<void> {
    await this.#written?.note(entry);
    await this.#putAgain(entry);
  }
  async #putAgain(entry: OutboxEntry): Promise<void> {
    await this.#shelfOf(entry).waiting.put(entry);
    // Not sooner: what is told of an entry may act on it, and a full disk may have refused it.
    this.#remember(entry);
    // Whoever puts it again has changed something: it is looked at once more before it leaves.
    await this.#held.remove(entry.id);
  }
  /** Puts entries of which none may stay away: when this process is killed, {@link finish} goes on. */
  async putAll(entries: readonly OutboxEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await writeSealed(this.#together, { entries });
    await this.finish();
  }
  /** Puts what {@link putAll} was putting; what was published meanwhile is found there once more. */
  async finish(): Promise<void> {
    const value = (await readSealed(this.#together))?.value;
    const entries = isRecord(value) ? value['entries'] : undefined;
    for (const one of Array.isArray(entries) ? (entries as unknown[]) : []) {
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
    await this.#held.remove(id);
    if (!(await this.#withFiles.waiting.has(id))) return;
    await this.#withFiles.waiting.remove(id);
    passed('entry_with_files_removed');
    await this.files.remove(id);
  }
  /** Removes the bytes that no entry names, which a process left that died. */
  async sweepFiles(now: Date): Promise<void> {
    const { waiting, aside } = this.#withFiles;
    const folders = [waiting, aside, this.#held];
    const ids = await Promise.all(folders.map((folder) => folder.ids()));
    await this.files.sweep(new Set(ids.flat()), now);
  }
  /**
   * Keeps an entry that holds a secret, until a person lets it go or drops it: it is not among those that
   * leave. Like what was set aside, it stands in one place at any time.
   *
   * @param at ISO 8601 UTC
   */
  async hold(entry: OutboxEntry, held: FoundSecret[], at: string): Promise<void> {
    const { id } = entry;
    const told = (await this.#held.get(id))?.told;
    const item: HeldEntry = { ...entry, held, at, ...(told === true && { told }) };
    const { waiting } = this.#shelfOf(entry);
    if (!(await waiting.has(id))) return this.#held.put(item);
    await waiting.put(item);
    await waiting.move(id, this.#held);
  }
  /** What is held, oldest first. */
  held(): Promise<HeldEntry[]> {
    return this.#held.all();
  }
  /** Records that those who wait for a held answer were told. */
  async markTold(id: string): Promise<void> {
    const item = await this.#held.get(id);
    if (item !== undefined) await this.#held.put({ ...item, told: true });
  }
  /** Lets a held entry go: it is published with its secret; false when it is not held any more. */
  async release(id: string): Promise<boolean> {
    const item = await this.#held.get(id);
    if (item === undefined) return false;
    const { commits, delivery } = item;
    const entry = { id, commits, ...(delivery !== undefined && { delivery }) };
    await this.put({ ...entry, allowed: true });
    return true;
  }
  /** Forgets a held entry with its files. */
  async drop(id: string): Promise<void> {
    await this.#held.remove(id);
    await this.files.remove(id);
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
  #shelfOf(entry: OutboxEntry): Shelf {
    return hasFiles(entry) ? this.#withFiles : this.#plain;
  }
}

/** Entries that are to be published, and those of them that were set aside. */
interface Shelf {
  waiting: JsonFolder<OutboxEntry>;
  aside: JsonFolder<SetAside>;
}

function shelfAt(folder: string, seal: Seal): Shelf {
  return {
    waiting: new JsonFolder(folder, parseEntry, seal),
    aside: new JsonFolder(`${folder}${ASIDE}`, parseAside, seal),
  };
}

function inOrder<T extends { id: string }>(some: T[], others: T[]): T[] {
  if (others.length === 0) return some;
  return [...some, ...others].sort((a, b) => (a.id < b.id ? -1 : 1));
}
