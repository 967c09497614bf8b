import { number, text } from './database.ts';
import type { Index } from './index.ts';
import { relPathIn } from './keys.ts';

/** A name that messages are addressed to. */
export interface Addressed {
  name: string;
  /** Whether it has ever written a message. */
  writes: boolean;
  /** The newest message to it, and how many there are, at most {@link MOST_COUNTED}. */
  newest: string;
  messages: number;
}

/** The most names that are looked at, the newest first: whoever can push can address any number. */
const MOST_NAMES = 500;
/** The most messages that are counted for a name. */
export const MOST_COUNTED = 1000;

/**
 * The names that messages are addressed to.
 *
 * @param skip names that need not be looked at
 * @param since relPath; names whose newest message is older are left out
 */
export function addressedIn(
  { database }: Index,
  { skip, since }: { skip: ReadonlySet<string>; since: string },
): Addressed[] {
  const rows = database.all('SELECT id, name FROM names ORDER BY id DESC LIMIT ?', MOST_NAMES);
  return rows.flatMap((row): Addressed[] => {
    const name = text(row, 'name');
    if (skip.has(name)) return [];
    const [sender, addressee] = ['s', 't'].map(
      (tag) => `tags : ${tag}${String(number(row, 'id'))}`,
    );
    const first = 'SELECT rowid FROM texts WHERE texts MATCH ? LIMIT 1';
    const newest = database.get(
      `SELECT * FROM messages WHERE id =
         (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT 1)`,
      addressee ?? '',
    );
    if (newest === undefined || relPathIn(newest) < since) return [];
    const counted = database.get(
      `SELECT count(*) AS count FROM (SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?)`,
      addressee ?? '',
      MOST_COUNTED,
    );
    const messages = number(counted ?? {}, 'count');
    const writes = database.get(first, sender ?? '') !== undefined;
    return [{ name, writes, newest: relPathIn(newest), messages }];
  });
}
