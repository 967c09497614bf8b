import { createHash } from 'node:crypto';
import { placeOf } from '../protocol/layout.ts';
import { Seal } from '../store/seal.ts';
import { text, type Database } from '../store/sqlite.ts';
import { Store } from '../store/store.ts';
import type { OutboxEntry } from './outbox-entry.ts';

/** The messages that are remembered. */
const MOST = 100_000;
/** Paths that are looked up in one step. */
const AT_A_TIME = 1000;

/**
 * Which messages this machine has written itself: runs sign nothing, but a machine knows its own words, and a
 * state that was restored from a copy knows by them what was written after that copy was made.
 */
export class Written {
  readonly #store: Store;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string) {
    this.#store = Store.at(root);
    this.#seal = new Seal(root, 'written');
  }

  /** Puts the messages of an entry on record, in the step that puts it into the outbox. */
  note(database: Database, { commits }: OutboxEntry): void {
    for (const { path, content } of commits.flatMap(({ files }) => files)) {
      if (placeOf(path).kind !== 'message') continue;
      const digest = digestOf(content);
      const insert = 'INSERT OR REPLACE INTO written (path, digest, seal) VALUES (?, ?, ?)';
      database.run(insert, path, digest, this.#seal.name(path, digest));
    }
    const forget = 'DELETE FROM written WHERE id <= (SELECT max(id) FROM written) - ?';
    database.run(forget, MOST);
  }

  /** By path in the transport, the SHA-256 of those of some messages that are on record, in base64url. */
  async look(paths: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (let at = 0; at < paths.length; at += AT_A_TIME)
      await this.#store.read((database) => {
        for (const path of paths.slice(at, at + AT_A_TIME)) {
          const row = database.get('SELECT digest, seal FROM written WHERE path = ?', path);
          const digest = row && text(row, 'digest');
          if (digest !== undefined && text(row ?? {}, 'seal') === this.#seal.name(path, digest))
            found.set(path, digest);
        }
      });
    return found;
  }
}

/** What {@link Written.look} gives for a message with this text. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url');
}
