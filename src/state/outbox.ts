import { passed } from '../crash-points.ts';
import { Emitter } from '../emitter.ts';
import type { FoundSecret } from '../protocol/text/secrets.ts';
import { Rows } from '../store/rows.ts';
import type { Database } from '../store/sqlite.ts';
import { Store } from '../store/store.ts';
import { DeadLetters, type DeadLetter } from './dead-letters.ts';
import { hasFiles, type HeldEntry, type OutboxEntry, type SetAside } from './outbox-entry.ts';
import { Settled } from './settled.ts';
import { SideFiles } from './side-files.ts';
import type { Written } from './written.ts';

export { hasFiles, settledBy, parseCommits } from './outbox-entry.ts';
export type { HeldEntry, OutboxEntry };

/** Maximum number of paths that are remembered; above it they are forgotten. */
const MAX_REMEMBERED = 200_000;

export interface OutboxEvents {
  /** An entry that this process has put, or sees for the first time, is on disk. */
  seen: [entry: OutboxEntry];
}

/** A recorder of each entry, in the step that puts it, and in the step that removes it once it was pushed. */
type Recorder = Pick<Written, 'note' | 'reached' | 'queued' | 'withdraw' | 'withdrawn'>;

/**
 * Entries that this machine has yet to publish. An entry is in one place at any time: it waits, is held,
 * or was set aside. Its deliveries are settled in the step in which it stops waiting, whichever process
 * does that.
 */
export class Outbox {
  readonly #remembered = new Set<string>();
  readonly #store: Store;
  readonly #waiting: Rows<OutboxEntry>;
  readonly #held: Rows<HeldEntry>;
  readonly #aside: Rows<SetAside>;
  readonly #settled: Settled;
  readonly #letters: Rows<DeadLetter>;
  readonly #written: Recorder | undefined;
  /** The bytes of the files that entries name. */
  readonly files: SideFiles;
  readonly events = new Emitter<OutboxEvents>();

  /**
   * @param root the state directory
   * @param written records the files that this machine writes, without those that it publishes again
   */
  constructor(root: string, written?: Recorder) {
    this.#written = written;
    this.#store = Store.at(root);
    this.#settled = new Settled(root);
    this.#letters = new DeadLetters(root);
    this.#waiting = new Rows(root, 'outbox');
    this.#held = new Rows(root, 'outbox-held');
    this.#aside = new Rows(root, 'outbox-aside');
    this.files = new SideFiles(root);
  }

  /** Puts an entry. Its files are written to {@link files} before. */
  put(entry: OutboxEntry): Promise<void> {
    return this.#put((database) => {
      this.#written?.note(database, entry);
      return [entry];
    });
  }
  /**
   * Puts entries that were on the bus before, all or none of them. They replace entries that were put for
   * the same files: a branch can be set back any number of times while nothing is pushed.
   */
  async putAll(lost: readonly OutboxEntry[]): Promise<void> {
    if (lost.length === 0) return;
    await this.#put((database) => {
      // A person may have withdrawn some since they were found.
      const out = this.#written?.withdrawn(database, lost.flatMap(pathsOf));
      const entries = lost.flatMap((entry) => without({ ...entry, again: true }, out) ?? []);
      const paths = new Set(entries.flatMap(pathsOf));
      const isPut = (one: OutboxEntry): boolean =>
        one.again === true && pathsOf(one).every((path) => paths.has(path));
      for (const rows of [this.#waiting, this.#held, this.#aside].map((of) => of.in(database)))
        for (const { id } of rows.all().filter(isPut)) rows.remove(id);
      this.#written?.queued(database, paths);
      return entries;
    });
  }
  async #put(entriesIn: (database: Database) => OutboxEntry[]): Promise<void> {
    const put = await this.#store.write((database) => {
      const entries = entriesIn(database);
      const [waiting, held] = [this.#waiting.in(database), this.#held.in(database)];
      for (const entry of entries) {
        waiting.put(entry);
        // An entry that is put again was changed: it is checked once more before it is published.
        held.remove(entry.id);
      }
      return entries;
    });
    // Not earlier: listeners may act on an entry, and a full disk may have refused it.
    for (const entry of put) this.#remember(entry);
  }
  /** Withdraws files that were on the bus before: they are not published again, neither now nor later. */
  async withdraw(paths: readonly string[]): Promise<void> {
    const out = new Set(paths);
    await this.#store.write((database) => {
      this.#written?.withdraw(database, paths);
      for (const kind of [this.#waiting, this.#held, this.#aside] as Rows<OutboxEntry>[]) {
        const rows = kind.in(database);
        for (const entry of rows.all()) {
          if (entry.again !== true || !pathsOf(entry).some((path) => out.has(path))) continue;
          const left = without(entry, out);
          if (left === undefined) rows.remove(entry.id);
          else rows.put(left);
        }
      }
    });
  }
  get(id: string): Promise<OutboxEntry | undefined> {
    return this.#waiting.get(id);
  }
  async all(): Promise<OutboxEntry[]> {
    const entries = await this.#waiting.all();
    for (const entry of entries) this.#remember(entry);
    return entries;
  }
  isEmpty(): Promise<boolean> {
    return this.#waiting.isEmpty();
  }
  /** Whether a file was in an entry that this process has put or seen. */
  hasHeld(path: string): boolean {
    return this.#remembered.has(path);
  }
  #remember(entry: OutboxEntry): void {
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear();
    const paths = pathsOf(entry);
    const isSeen = paths.every((path) => this.#remembered.has(path));
    for (const path of paths) this.#remembered.add(path);
    if (!isSeen) this.events.emit('seen', entry);
  }
  /** @param tip the commit with which the remote has it, if this process knows that */
  async remove(id: string, tip?: string): Promise<void> {
    const entry = await this.#waiting.get(id);
    await this.#store.write((database) => {
      if (entry !== undefined && tip !== undefined)
        this.#written?.reached(database, pathsOf(entry), tip);
      if (entry !== undefined) this.#takeOut(database, entry);
      this.#held.in(database).remove(id);
    });
    if (entry === undefined || !hasFiles(entry)) return;
    passed('entry_with_files_removed');
    await this.files.remove(id);
  }
  /** Removes the bytes that no entry names, left by a process that died. */
  async sweepFiles(now: Date): Promise<void> {
    const all = [this.#waiting, this.#aside, this.#held];
    const ids = await Promise.all(all.map((rows) => rows.ids()));
    await this.files.sweep(new Set(ids.flat()), now);
  }
  /**
   * Holds an entry that contains a secret, until a person releases or drops it: it is not published.
   *
   * @param at ISO 8601 UTC
   */
  hold(entry: OutboxEntry, found: FoundSecret[], at: string): Promise<void> {
    return this.#store.write((database) => {
      const held = this.#held.in(database);
      const told = held.get(entry.id)?.told;
      held.put({ ...entry, held: found, at, ...(told === true && { told }) });
      this.#takeOut(database, entry);
    });
  }
  /** Lists the held entries, oldest first. */
  held(): Promise<HeldEntry[]> {
    return this.#held.all();
  }
  /** Records that the askers of a held answer were notified. */
  markTold(id: string): Promise<void> {
    return this.#held.write((held) => {
      const item = held.get(id);
      if (item !== undefined) held.put({ ...item, told: true });
    });
  }
  /** Releases a held entry, which is published with its secret; false when it is not held any more. */
  async release(id: string): Promise<boolean> {
    const item = await this.#held.get(id);
    if (item === undefined) return false;
    const { commits, delivery } = item;
    const entry = { id, commits, ...(delivery !== undefined && { delivery }) };
    await this.put({ ...entry, allowed: true });
    return true;
  }
  /** Drops a held entry with its files. */
  async drop(id: string): Promise<void> {
    await this.#held.remove(id);
    await this.files.remove(id);
  }
  /**
   * Sets an entry aside that cannot be published in its present form, with the reason.
   *
   * @param at ISO 8601 UTC
   */
  setAside(entry: OutboxEntry, reason: string, at: string): Promise<void> {
    return this.#store.write((database) => {
      this.#aside.in(database).put({ ...entry, reason, at });
      this.#takeOut(database, entry);
    });
  }
  #takeOut(database: Database, entry: OutboxEntry): void {
    this.#settled.by(database, entry);
    this.#letters.in(database).remove(entry.delivery?.deadLetter ?? '');
    this.#waiting.in(database).remove(entry.id);
  }
  /** Lists the entries that were set aside, with the reasons. */
  aside(): Promise<SetAside[]> {
    return this.#aside.all();
  }
  /** Puts the entries set aside back, to be published again; returns their number. */
  restore(): Promise<number> {
    return this.#store.write((database) => {
      const aside = this.#aside.in(database);
      const all = aside.all();
      for (const { id, commits, delivery, allowed } of all) {
        const more = { ...(delivery && { delivery }), ...(allowed && { allowed }) };
        this.#waiting.in(database).put({ id, commits, ...more });
        aside.remove(id);
      }
      return all.length;
    });
  }
}

/** Returns an entry without some files; undefined when nothing is left. */
function without(entry: OutboxEntry, out?: ReadonlySet<string>): OutboxEntry | undefined {
  if (out === undefined || out.size === 0) return entry;
  const commits = entry.commits
    .map((one) => ({ ...one, files: one.files.filter(({ path }) => !out.has(path)) }))
    .filter(({ files }) => files.length > 0);
  return commits.length > 0 ? { ...entry, commits } : undefined;
}

function pathsOf({ commits }: OutboxEntry): string[] {
  return commits.flatMap(({ files }) => files.map(({ path }) => path));
}
