import { existsSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MessageRef, CHANNELS, placeOf } from '../protocol/layout.ts';
import { number, text, type Database, connect, isBroken, isBusy } from '../store/sqlite.ts';
import { hashOf, columnsOf, relPathIn } from './keys.ts';
import { IndexWriter, type IndexBatch } from './writer.ts';
import { reasonOf } from '../errors.ts';

/** Progress of the index: complete up to a commit, or being built. */
export interface Progress {
  /** The commit whose files are all in the index. */
  tip: string | undefined;
  /** While the index is built: the target commit, and the day down to which it is complete. */
  building: { tip: string; day: string } | undefined;
}

/** Counts as `status` shows them. */
export interface Counts {
  channels: Record<string, { messages: number; last: string }>;
  /** Some of the malformed files, the first ones by path, with the problem of each. */
  malformed: Record<string, string>;
  malformedTotal: number;
}

/** Most malformed files that are named; a hostile push may contain any number of them. */
const MAX_MALFORMED = 1000;

/** Number of equally large parts of its lists from which FTS5 merges them. */
const USUAL_MERGE = 4;

/**
 * The derived view of a transport: messages, their answers, and words. It can be deleted at any
 * time. Writing the same batch twice changes nothing, so a writer that was killed can start again.
 */
export class Index {
  readonly database: Database;
  readonly #path: string;
  readonly #writer: IndexWriter;

  private constructor(database: Database, path: string) {
    this.database = database;
    this.#path = path;
    this.#writer = new IndexWriter(database);
  }

  /** @param path of the file, or `:memory:` */
  static async open(path: string, say: (line: string) => void): Promise<Index> {
    return new Index(await openDatabase(path, say), path);
  }

  get progress(): Progress {
    const building = this.#fact('building');
    return {
      tip: this.#fact('tip'),
      building:
        building === undefined ? undefined : (JSON.parse(building) as { tip: string; day: string }),
    };
  }

  /** Writes a batch, and the progress of the index after it, in one transaction. */
  write(batch: IndexBatch, progress: Progress): void {
    this.database.transaction(() => {
      this.#writer.write(batch, progress.building !== undefined);
      this.#setFact('tip', progress.tip);
      this.#setFact('building', progress.building && JSON.stringify(progress.building));
    });
  }

  clear(): void {
    this.database.transaction(() => {
      for (const table of ['channels', 'names', 'messages', 'links', 'malformed'])
        this.database.run(`DELETE FROM ${table}`);
      this.database.run('DELETE FROM memories');
      for (const table of ['texts', 'notes'])
        this.database.run(`INSERT INTO ${table} (${table}) VALUES ('delete-all')`);
      this.#setFact('tip', undefined);
      this.#setFact('building', undefined);
      // Merging while the index grows would be repeated later.
      this.#merge(0);
    });
  }

  /** Starts to merge small parts of the lists as they arrive; called once the index is built. */
  settle(): void {
    this.database.transaction(() => {
      this.#merge(USUAL_MERGE);
    });
    this.database.checkpoint();
  }

  #merge(parts: number): void {
    this.database.run("INSERT INTO texts (texts, rank) VALUES ('automerge', ?)", parts);
  }

  /** Returns the paths of the files that could not be read for this reason. */
  missing(reason: string): string[] {
    return this.database
      .all('SELECT path FROM malformed WHERE reason = ?', reason)
      .map((row) => text(row, 'path'));
  }

  /** Whether a channel with messages is indexed under another name. */
  isRenamed(uuid: string, name: string): boolean {
    const row = this.database.get(
      'SELECT 1 FROM channels WHERE uuid = ? AND name <> ? AND messages > 0',
      uuid,
      name,
    );
    return row !== undefined;
  }

  /** Counts messages and malformed files, as `status` shows them. */
  counts(): Counts {
    const channels = this.database.all('SELECT uuid, messages, last FROM channels');
    const malformed = this.database.all(
      'SELECT path, reason FROM malformed ORDER BY path LIMIT ?',
      MAX_MALFORMED,
    );
    const total = this.database.get('SELECT count(*) AS total FROM malformed');
    return {
      channels: Object.fromEntries(
        channels.map((row) => [
          text(row, 'uuid'),
          { messages: number(row, 'messages'), last: text(row, 'last') },
        ]),
      ),
      malformed: Object.fromEntries(
        malformed.map((row) => [text(row, 'path'), text(row, 'reason')]),
      ),
      malformedTotal: total === undefined ? 0 : number(total, 'total'),
    };
  }

  /** Finds the relPaths of messages that may name the given one in `re`, or also in `cause`, oldest first. */
  naming(channel: string, relPath: string, inCause: boolean): string[] {
    const rows = this.database.all(
      `SELECT DISTINCT m.* FROM links l JOIN messages m ON m.id = l.message
       WHERE l.target = ? AND l.re >= ?`,
      hashOf(channel, relPath),
      inCause ? 0 : 1,
    );
    return rows.map(relPathIn).sort();
  }

  /** Finds the messages whose hex suffix begins with a prefix, including malformed ones; at most `limit` of each. */
  withSuffix(prefix: string, limit: number): MessageRef[] {
    return this.database
      .all(
        `SELECT c.uuid, m.* FROM messages m JOIN channels c ON c.id = m.channel
         WHERE m.suffix >= ? AND m.suffix < ? ORDER BY m.suffix LIMIT ?`,
        prefix,
        `${prefix}g`,
        limit,
      )
      .map((row) => ({ channel: text(row, 'uuid'), relPath: relPathIn(row) }))
      .concat(this.#malformedWith(prefix, limit));
  }

  #malformedWith(suffix: string, limit: number): MessageRef[] {
    const like = `${CHANNELS}/%Z-${suffix}%`;
    return this.database
      .all('SELECT path FROM malformed WHERE path LIKE ? LIMIT ?', like, limit)
      .flatMap((row) => {
        const place = placeOf(text(row, 'path'));
        return place.kind === 'message' ? [place] : [];
      });
  }

  /** Returns the messages of a channel before and after one, in the order of time. */
  around(channel: string, relPath: string, each: number): { before: string[]; after: string[] } {
    const { day, clock, suffix } = columnsOf(relPath);
    const side = (sign: string, order: string): string[] =>
      this.database
        .all(
          `SELECT day, clock, suffix FROM messages
           WHERE (day, clock, suffix) ${sign} (?, ?, ?)
             AND channel = (SELECT id FROM channels WHERE uuid = ?)
           ORDER BY day ${order}, clock ${order}, suffix ${order} LIMIT ?`,
          day,
          clock,
          suffix,
          channel,
          each,
        )
        .map(relPathIn);
    return { before: side('<', 'DESC').reverse(), after: side('>', 'ASC') };
  }

  /** Moves the file of a damaged or unwanted index out of the way. */
  abandon(): void {
    this.database.close();
    moveAside(this.#path);
  }

  #fact(key: string): string | undefined {
    const row = this.database.get('SELECT value FROM facts WHERE key = ?', key);
    return row && text(row, 'value');
  }

  #setFact(key: string, value: string | undefined): void {
    if (value === undefined) this.database.run('DELETE FROM facts WHERE key = ?', key);
    else this.database.run('INSERT OR REPLACE INTO facts VALUES (?, ?)', key, value);
  }
}

/** Version of the schema. It has to change with every change of the tables below or of what is written to them. */
const VERSION = 6;

/**
 * The `id` of a message grows as messages arrive, and counts down while older ones are added: so the newest come first
 * without sorting, and neighbours have neighbouring ids, which keeps the lists of `texts` small. Links name their
 * target by a hash, so code that follows a link checks the message.
 *
 * `texts` contains only the words that `apart` separates; the text itself is in git. Its column `tags` has one word for
 * the channel, one for the sender, one for each addressee, `q` for a message that may ask them something, `p` for one
 * that asks for a decision, and `x` for one that cancels a message, so that filters are a part of the search. The words
 * of the first column take the least space.
 *
 * Notes are few and short, so `notes` has words without their English endings: a search for `release` finds `releases`.
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
async function openDatabase(path: string, say: (line: string) => void): Promise<Database> {
  for (let tries = 1; ; tries++) {
    let database: Database | undefined;
    try {
      database = await connect(path, BUSY_TRIES * BUSY_WAIT_MS);
      prepare(database);
      return database;
    } catch (error) {
      database?.close();
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
function moveAside(path: string): void {
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
    // Another process may have created it in the meantime.
    if (database.version === 0)
      database.exec(`${TABLES} PRAGMA user_version = ${String(VERSION)};`);
  });
}
