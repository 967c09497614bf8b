import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import type {
  DatabaseSyncInstance,
  SqliteModule,
  StatementSyncInstance,
} from '@photostructure/sqlite';
import { CrosstalkError, reasonOf } from '../errors.ts';

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

/** SQLite's result codes for a file that is damaged, or is not a database. */
const BROKEN = new Set([11, 26]);
/** SQLite's result code for a disk without room. */
const FULL = 13;
/**
 * SQLite's result codes for a file that cannot be written, read or locked for writing: permission,
 * read-only, I/O, no room, open.
 */
const UNWRITABLE = new Set([3, 8, 10, FULL, 14, 23]);
const BUSY = 5;
const BUSY_TRIES = 500;
const BUSY_WAIT_MS = 10;

/** A row as SQLite returns it. */
export type Row = Record<string, string | number | null>;

/** One open connection with prepared statements. All calls are synchronous. */
export class Database {
  readonly #connection: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();

  constructor(connection: DatabaseSyncInstance) {
    this.#connection = connection;
  }

  run(sql: string, ...values: (string | number)[]): number {
    return this.#prepare(sql).run(...values).changes;
  }

  all(sql: string, ...values: (string | number)[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  get(sql: string, ...values: (string | number)[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  /** Carries out all of the work or none of it, excluding other processes that write. */
  transaction(work: () => void): void {
    this.#connection.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#connection.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** After some errors, such as that of a full disk, SQLite has rolled back already, and refuses to do it twice. */
  #rollBack(): void {
    try {
      this.#connection.exec('ROLLBACK');
    } catch {
      // The error that led here says more.
    }
  }

  /** Moves the write-ahead log into the file, unless somebody is reading it. */
  checkpoint(): void {
    this.#connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #prepare(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Whether an error means that the file, or a file beside it, cannot be written. */
export function isUnwritable(error: unknown): boolean {
  return UNWRITABLE.has(codeOf(error) & 0xff);
}

/** Whether an error means that there is no room for the file, or for a file beside it. */
export function isFull(error: unknown): boolean {
  return (codeOf(error) & 0xff) === FULL;
}

/** Whether an error means that the file is damaged. */
export function isBroken(error: unknown): boolean {
  return BROKEN.has(codeOf(error) & 0xff);
}

/**
 * Opens an index, or creates it. A file that is damaged or of another version is moved to
 * `<path>.aside`, because everything in it can be read from git again.
 *
 * @param path `:memory:` for an index that only this process uses
 * @throws CrosstalkError `internal` when the database cannot be loaded or opened
 */
export async function openDatabase(path: string, say: (line: string) => void): Promise<Database> {
  const sqlite = await loadSqlite();
  for (let tries = 1; ; tries++) {
    if (path !== ':memory:') keepPrivate(path);
    const connection = new sqlite.DatabaseSync(path, { timeout: BUSY_TRIES * BUSY_WAIT_MS });
    try {
      prepare(connection);
      return new Database(connection);
    } catch (error) {
      connection.close();
      // Switching the journal mode does not wait for other processes, whatever the timeout is.
      if (codeOf(error) === BUSY && tries < BUSY_TRIES) {
        await new Promise((resolve) => setTimeout(resolve, BUSY_WAIT_MS));
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

/**
 * Creates the file if it is missing, readable only by its owner whatever the umask is: SQLite gives
 * its other files the same permissions. An existing file loses further permissions.
 */
function keepPrivate(path: string): void {
  // SQLite reports a place that cannot be written.
  try {
    closeSync(openSync(path, 'a', 0o600));
    for (const part of [path, `${path}-wal`, `${path}-shm`])
      if (existsSync(part) && (statSync(part).mode & 0o077) !== 0) chmodSync(part, 0o600);
  } catch {
    return;
  }
}

class OtherVersion extends Error {}

async function loadSqlite(): Promise<Pick<SqliteModule, 'DatabaseSync'>> {
  try {
    return await import('@photostructure/sqlite');
  } catch (error) {
    throw new CrosstalkError(
      'internal',
      `the search index needs SQLite, which could not be loaded for ${process.platform}-${process.arch}: ${reasonOf(error)}; install crosstalk again with: npm install`,
      { cause: error },
    );
  }
}

function prepare(connection: DatabaseSyncInstance): void {
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  connection.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000');
  connection.exec('PRAGMA journal_size_limit = 1000000');
  const version = (): number =>
    Number((connection.prepare('PRAGMA user_version').get() as Row)['user_version']);
  const found = version();
  if (found === VERSION) return;
  if (found !== 0) throw new OtherVersion(`of version ${String(found)}, not ${String(VERSION)}`);
  connection.exec('BEGIN IMMEDIATE');
  // Another process may have created it meanwhile.
  if (version() === 0) connection.exec(`${TABLES} PRAGMA user_version = ${String(VERSION)};`);
  connection.exec('COMMIT');
}

function codeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code : 0;
}

/** The value of a text column. */
export function text(row: Row, column: string): string {
  return String(row[column] ?? '');
}

/** The value of a number column. */
export function number(row: Row, column: string): number {
  return Number(row[column] ?? 0);
}
