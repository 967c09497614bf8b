import { existsSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../errors.ts';
import { connect, isBroken, isBusy, type Database } from '../store/sqlite.ts';

/** Has to change with every change of the tables below or of what is written to them. */
const VERSION = 6;

/**
 * The `id` of a message grows as messages arrive, and counts down while older ones are added: so
 * the newest come first without sorting, and neighbours have neighbouring ids, which keeps the
 * lists of `texts` small. Links name their target by a hash, so code that follows a link checks the
 * message.
 *
 * `texts` contains words only, as `apart` tells them; the text itself is in git. Its column `tags` has one word for the
 * channel, one for the sender, one for each addressee, `q` for what may ask them something, `p` for what asks for a decision, and `x` for
 * what takes a message back, so that filters are a part of the search.
 * The words of the first column take the least space.
 *
 * Notes are few and short, so `notes` has words without their English endings: a search for `release` finds
 * `releases`.
 */
const TABLES = `
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE channels (
  id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  messages INTEGER NOT NULL, last TEXT NOT NULL
);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, channel INTEGER NOT NULL,
  day INTEGER NOT NULL, clock INTEGER NOT NULL, suffix TEXT NOT NULL
);
CREATE UNIQUE INDEX places ON messages (day, clock, suffix, channel);
CREATE INDEX suffixes ON messages (suffix);
CREATE TABLE links (
  target INTEGER NOT NULL, message INTEGER NOT NULL, re INTEGER NOT NULL,
  PRIMARY KEY (target, message, re)
) WITHOUT ROWID;
CREATE INDEX links_of ON links (message);
CREATE TABLE malformed (path TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5 (
  body, opening, channel, tags, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 2"
);
CREATE TABLE memories (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, scope TEXT NOT NULL);
CREATE VIRTUAL TABLE notes USING fts5 (
  body, subject, alias, content='', contentless_delete=1,
  tokenize="porter unicode61 remove_diacritics 2"
);
`;

const BUSY_TRIES = 500;
const BUSY_WAIT_MS = 10;

/**
 * Opens an index, or creates it. A file that is damaged or of another version is moved to
 * `<path>.aside`, because everything in it can be read from git again.
 *
 * @param path `:memory:` for an index that only this process uses
 * @throws CrosstalkError `internal` when the database cannot be loaded or opened
 */
export async function openDatabase(path: string, say: (line: string) => void): Promise<Database> {
  for (let tries = 1; ; tries++) {
    const database = await connect(path, BUSY_TRIES * BUSY_WAIT_MS);
    try {
      prepare(database);
      return database;
    } catch (error) {
      database.close();
      // Switching the journal mode does not wait for other processes, whatever the timeout is.
      if (isBusy(error) && tries < BUSY_TRIES) {
        await sleep(BUSY_WAIT_MS);
        continue;
      }
      const isOurs = error instanceof OtherVersion || isBroken(error);
      if (!isOurs || tries > 2) throw error;
      moveAside(path);
      // After an update of crosstalk there is nothing that anybody could do.
      if (!(error instanceof OtherVersion))
        say(`the index ${path} is ${reasonOf(error)}; it was moved aside and is built again`);
    }
  }
}

/** Moves a database out of the way; other processes that have it open keep using it. */
export function moveAside(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.aside`);
  for (const part of ['-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}

class OtherVersion extends Error {}

function prepare(database: Database): void {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000');
  database.exec('PRAGMA journal_size_limit = 1000000');
  const found = database.version;
  if (found === VERSION) return;
  if (found !== 0) throw new OtherVersion(`of version ${String(found)}, not ${String(VERSION)}`);
  database.transaction(() => {
    // Another process may have created it meanwhile.
    if (database.version === 0)
      database.exec(`${TABLES} PRAGMA user_version = ${String(VERSION)};`);
  });
}
