import { MOST_COUNTED } from '../protocol/text/words.ts';
import { number, text } from '../store/sqlite.ts';
import type { Index } from './index.ts';
import { hashOf, relPathIn } from './keys.ts';
import { PROPOSES, TAKES_BACK } from './writer.ts';

/** A name that messages are addressed to. */
export interface Addressed {
  name: string;
  /** Whether the name has ever written a message. */
  writes: boolean;
  /** The newest message to it since the given time, and the oldest one that was counted. */
  newest: string;
  oldest: string;
  /** Number of messages since that time, at most {@link MOST_COUNTED}. */
  messages: number;
}

/** Most names that are examined, the newest first: anybody who can push can address any number. */
const MOST_NAMES = 500;
/** Most messages that are checked for an answer. */
const MOST_LOOKS = 5000;

/** Returns names that wrote or were written to, the latest to appear first. */
export function namesIn({ database }: Index, limit: number): string[] {
  return database
    .all('SELECT name FROM names ORDER BY id DESC LIMIT ?', limit)
    .map((row) => text(row, 'name'));
}

/** Finds the newest message that is written under a name. */
export function newestBy(
  { database }: Index,
  name: string,
): { channel: string; relPath: string } | undefined {
  const writer = database.get('SELECT id FROM names WHERE name = ?', name);
  if (writer === undefined) return undefined;
  const found = database.get(
    `SELECT m.*, c.uuid FROM messages m JOIN channels c ON c.id = m.channel WHERE m.id =
       (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT 1)`,
    `tags : s${String(number(writer, 'id'))}`,
  );
  return found && { channel: text(found, 'uuid'), relPath: relPathIn(found) };
}

/**
 * Finds the names with messages to which nobody has reacted. A message that asks for a decision waits for a person, who
 * may never have written before, and one that was cancelled waits for nobody.
 *
 * @param skip names that are not examined
 * @param since relPath; names whose newest message is older are left out
 */
export function addressedIn(
  { database }: Index,
  { skip, since }: { skip: ReadonlySet<string>; since: string },
): Addressed[] {
  let looks = MOST_LOOKS;
  const isAnswered = (channel: string, relPath: string): boolean => {
    if (looks-- <= 0) return false;
    const named = 'SELECT 1 FROM links WHERE target = ? LIMIT 1';
    return database.get(named, hashOf(channel, relPath)) !== undefined;
  };
  const rows = database.all('SELECT id, name FROM names ORDER BY id DESC LIMIT ?', MOST_NAMES);
  return rows.flatMap((row): Addressed[] => {
    const name = text(row, 'name');
    if (skip.has(name)) return [];
    const [sender, addressee] = ['s', 't'].map(
      (tag) => `tags : ${tag}${String(number(row, 'id'))}`,
    );
    const first = 'SELECT rowid FROM texts WHERE texts MATCH ? LIMIT 1';
    const found = database
      .all(
        `SELECT m.*, c.uuid FROM messages m JOIN channels c ON c.id = m.channel WHERE m.id IN
           (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?)`,
        `(${addressee ?? ''}) NOT (tags : ${PROPOSES} OR tags : ${TAKES_BACK})`,
        MOST_COUNTED,
      )
      .map((one) => ({ channel: text(one, 'uuid'), relPath: relPathIn(one) }))
      .filter(({ channel, relPath }) => relPath >= since && !isAnswered(channel, relPath))
      .map(({ relPath }) => relPath)
      .sort();
    const [oldest, newest] = [found[0], found.at(-1)];
    if (oldest === undefined || newest === undefined) return [];
    const writes = database.get(first, sender ?? '') !== undefined;
    return [{ name, writes, newest, oldest, messages: found.length }];
  });
}
