import { createHash } from 'node:crypto';
import type { Blob, Commit } from '../protocol/outgoing.ts';
import { CHANNELS, CLAIMS, MEMORIES } from '../protocol/layout.ts';
import { Seal } from '../store/seal.ts';
import { number, text, type Database } from '../store/sqlite.ts';
import { Store } from '../store/store.ts';
import type { OutboxEntry } from './outbox-entry.ts';

/** Maximum number of files that are remembered. */
const MOST = 100_000;
/** Number of paths that are looked up in one step. */
const AT_A_TIME = 1000;
/** Maximum number of commits that are remembered for one file. */
const MOST_TIPS = 8;

/** Folders whose files come back after history was set back; of claims, the ends with their answers. */
const KEPT = [CHANNELS, MEMORIES, CLAIMS];

/** The record of a file that this machine has written. */
export interface Writing extends Pick<Commit, 'at' | 'author' | 'subject'> {
  /** Digest of its content at that time: SHA-256 in base64url. */
  digest: string;
  /** The attached files that it was sent with. */
  blobs: Pick<Blob, 'path' | 'sha256' | 'bytes'>[];
  /** The delivery that it settled. */
  delivery?: OutboxEntry['delivery'];
  /** Commits with which this machine has published it, newest first. */
  tips: string[];
  /** Whether it waits to be published again, or may have been without a record of that. */
  isQueued?: boolean;
  /** Whether a person has withdrawn it, so that it is not published again. */
  withdrawn?: true;
}

/**
 * The messages, channels and notes that this machine has written itself: runs sign nothing, but a machine
 * recognises its own files. A state restored from a backup recognises files written after the backup was
 * made, and files that a rewritten history has lost are published again.
 */
export class Written {
  readonly #store: Store;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#store = Store.at(root);
    this.#seal = new Seal(root, 'written');
  }

  /** Records the files of an entry, in the step that puts it into the outbox. */
  note(database: Database, { commits, delivery }: OutboxEntry): void {
    const blobs = commits
      .flatMap((commit) => commit.blobs ?? [])
      .map(({ path, sha256, bytes }) => ({ path, sha256, bytes }));
    for (const { at, author, subject, files } of commits)
      for (const { path, content } of files) {
        if (!KEPT.some((folder) => path.startsWith(`${folder}/`))) continue;
        const said = { at, author, subject, blobs, ...(delivery && { delivery }) };
        const value = this.#seal.close(path, { digest: digestOf(content), ...said, tips: [] });
        database.run('INSERT OR REPLACE INTO written (path, value) VALUES (?, ?)', path, value);
      }
    const forget = 'DELETE FROM written WHERE id <= (SELECT max(id) FROM written) - ?';
    database.run(forget, MOST);
  }

  /** Records that the remote has some files with a commit, in the step that removes them from the outbox. */
  reached(database: Database, paths: readonly string[], tip: string): void {
    this.#change(database, paths, (is) => ({
      ...is,
      tips: [tip, ...is.tips].slice(0, MOST_TIPS),
      isQueued: false,
    }));
  }

  /** Records that some files are to be published again, in the step that puts them into the outbox. */
  queued(database: Database, paths: Iterable<string>): void {
    this.#change(database, paths, (is) => ({ ...is, isQueued: true }));
  }

  /** Records that some files must not be published again. */
  withdraw(database: Database, paths: readonly string[]): void {
    this.#change(database, paths, (is) => ({ ...is, withdrawn: true }));
  }

  /** Returns those of some files that must not be published again. */
  withdrawn(database: Database, paths: readonly string[]): Set<string> {
    return new Set(paths.filter((path) => this.#find(database, path)?.is.withdrawn === true));
  }

  /** Lists the paths on record that contain a text. */
  holding(part: string): Promise<string[]> {
    return this.#store.read((database) =>
      database
        .all('SELECT path FROM written WHERE instr(path, ?) > 0', part)
        .map((row) => text(row, 'path')),
    );
  }

  /** Returns the records of some files, by path in the transport, in the order in which they were written. */
  async look(paths: readonly string[]): Promise<Map<string, Writing>> {
    const found: { id: number; path: string; is: Writing }[] = [];
    for (let at = 0; at < paths.length; at += AT_A_TIME)
      await this.#store.read((database) => {
        for (const path of paths.slice(at, at + AT_A_TIME))
          found.push(...[this.#find(database, path) ?? []].flat());
      });
    return new Map(found.sort((a, b) => a.id - b.id).map(({ path, is }) => [path, is]));
  }

  #change(database: Database, paths: Iterable<string>, change: (is: Writing) => Writing): void {
    for (const path of paths) {
      const { is } = this.#find(database, path) ?? {};
      const update = 'UPDATE written SET value = ? WHERE path = ?';
      if (is !== undefined) database.run(update, this.#seal.close(path, change(is)), path);
    }
  }

  #find(database: Database, path: string): { id: number; path: string; is: Writing } | undefined {
    const row = database.get('SELECT id, value FROM written WHERE path = ?', path);
    const sealed = row && this.#seal.open(path, text(row, 'value'));
    return sealed === undefined
      ? undefined
      : { id: number(row ?? {}, 'id'), path, is: JSON.parse(sealed) as Writing };
  }
}

/** Returns the digest of a content, as in {@link Writing}. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url');
}
