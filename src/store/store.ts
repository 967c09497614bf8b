import { lstatSync, renameSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../crash-points.ts';
import { CrosstalkError, hasCode, isSystemError, reasonOf } from '../errors.ts';
import { isFull } from '../folder.ts';
import {
  broken,
  CANNOT_OPEN,
  connect,
  isBroken,
  isBusy,
  number,
  resultOf,
  type Database,
} from './sqlite.ts';

/** Name of the database in a state directory. */
export const STATE_DATABASE = 'state.db';

/** Milliseconds that SQLite waits for another process, during which this one does nothing else. */
const PATIENCE_MS = 50;
/** Milliseconds between attempts, and from the first attempt to the last. */
const AGAIN_MS = 20;
const GIVE_UP_MS = 30_000;

const stores = new Map<string, Store>();

/**
 * A machine's knowledge of one transport besides git: one database, to which a process has one connection.
 *
 * A step is a synchronous function, so that nothing else of this process comes between its statements: an
 * `await` in it would let another step's statement into its transaction. Code that reads, waits and writes
 * reads again in the step that writes.
 */
export class Store {
  readonly path: string;
  #open: { database: Database; file: number } | undefined;
  #opening: Promise<Database> | undefined;
  #seen: { database: Database; version: number } | undefined;

  private constructor(root: string) {
    this.path = join(root, STATE_DATABASE);
  }

  /** Returns the store of a state directory; neither has to exist. */
  static at(root: string): Store {
    const known = stores.get(resolve(root)) ?? new Store(resolve(root));
    stores.set(resolve(root), known);
    return known;
  }

  /** Carries out a step that reads; if there is no database, on an empty one. */
  async read<T>(step: (database: Database) => T): Promise<T> {
    if (fileAt(this.path) === undefined) return step(await (nothing ??= prepared(':memory:')));
    return this.#tried(step);
  }

  /** Carries out all of a step or nothing, durably, excluding other processes that write. */
  async write<T>(step: (database: Database) => T): Promise<T> {
    const result = await this.#tried((database) =>
      database.transaction(
        () => step(database),
        () => {
          passed('row_written');
        },
      ),
    );
    passed('row_committed');
    return result;
  }

  /** Whether another process has changed the database since the last call. No table is read. */
  async isChanged(): Promise<boolean> {
    if (fileAt(this.path) === undefined) return false;
    return this.#tried((database) => {
      const version = number(database.get('PRAGMA data_version') ?? {}, 'data_version');
      const seen = this.#seen;
      this.#seen = { database, version };
      return seen !== undefined && (seen.database !== database || seen.version !== version);
    });
  }

  async #tried<T>(step: (database: Database) => T): Promise<T> {
    const end = performance.now() + GIVE_UP_MS;
    for (let repairs = 0; ;) {
      try {
        return step(await this.#database());
      } catch (error) {
        if (isBroken(error) && repairs++ === 0) this.#setAside();
        else if (!isBusy(error)) throw systemError(error, this.path);
        else if (performance.now() > end) throw isHeld(this.path, error);
        else await sleep(AGAIN_MS);
      }
    }
  }

  /** Returns the connection to the file that is currently there. */
  async #database(): Promise<Database> {
    if (this.#open !== undefined && fileAt(this.path) === this.#open.file)
      return this.#open.database;
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #reopen(): Promise<Database> {
    this.#close();
    if (fileAt(this.path) === 'other') this.#setAside();
    const database = await prepared(this.path);
    this.#open = { database, file: fileAt(this.path) as number };
    return database;
  }

  #close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  /** Moves a damaged database out of the way, unless another process has done it. */
  #setAside(): void {
    const seen = this.#open?.file;
    this.#close();
    if (seen !== undefined && seen !== fileAt(this.path)) return;
    const at = new Date().toISOString().replaceAll(/[^0-9]/g, '');
    for (const part of ['', '-wal', '-shm']) {
      try {
        renameSync(`${this.path}${part}`, `${this.path}.${at}${part}.broken`);
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw error;
      }
    }
  }
}

/** An empty database, for readers if there is no file. */
let nothing: Promise<Database> | undefined;

async function prepared(path: string): Promise<Database> {
  const database = await connect(path, PATIENCE_MS);
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
    // Removed content may be a secret.
    database.exec('PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 4000000');
    if (database.version !== MIGRATIONS.length) migrate(database, path);
    if (!isWhole(database)) throw broken('a table of it is gone');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whether the tables and indexes of the migrations exist. */
function isWhole(database: Database): boolean {
  const select =
    "SELECT name FROM sqlite_master WHERE name IN ('item', 'line', 'lines_of', 'written', 'fact')";
  return database.all(select).length === 5;
}

function migrate(database: Database, path: string): void {
  database.transaction(() => {
    const found = database.version;
    if (found > MIGRATIONS.length)
      throw new CrosstalkError(
        'unsupported_version',
        `${path} was written by a newer crosstalk (its form is ${String(found)}, this one knows ${String(MIGRATIONS.length)}), and was not touched: install that version again`,
      );
    for (const step of MIGRATIONS.slice(found)) database.exec(step);
    database.exec(`PRAGMA user_version = ${String(MIGRATIONS.length)}`);
  });
}

/** Returns a number that identifies the file at a path; undefined for none. */
function fileAt(path: string): number | 'other' | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return found.isFile() ? found.ino : 'other';
}

function isHeld(path: string, cause: unknown): CrosstalkError {
  return new CrosstalkError(
    'locked',
    `another process has been writing to ${path} for ${String(GIVE_UP_MS / 1000)} s; nothing was changed: try again, or end that process`,
    { cause },
  );
}

/** Codes of the system for SQLite's result codes of a refused file. */
const OF_THE_SYSTEM: Readonly<Record<number, 'EACCES' | 'EROFS' | 'EIO' | 'ENOSPC'>> = {
  3: 'EACCES',
  8: 'EROFS',
  10: 'EIO',
  13: 'ENOSPC',
  14: 'EACCES',
  23: 'EACCES',
};
const IN_WORDS = {
  EACCES: 'it cannot be opened or locked',
  EROFS: 'it takes no writes',
  EIO: 'input or output failed',
  ENOSPC: 'no space left on device',
};
/**
 * Converts an error of SQLite to the corresponding one of the system, so that code that waits for free space
 * handles both.
 */
export function systemError(error: unknown, path: string): unknown {
  const found = OF_THE_SYSTEM[resultOf(error)];
  // The error already states its cause.
  if (found === undefined || error instanceof CrosstalkError || isSystemError(error)) return error;
  // A full disk makes SQLite report another error for files that it maps into memory, and for one that it
  // cannot create.
  const mayBeFull = found === 'EIO' || resultOf(error) === CANNOT_OPEN;
  const code = mayBeFull && isFull(dirname(path)) ? 'ENOSPC' : found;
  const line = `${code}: ${IN_WORDS[code]}, '${path}' (${reasonOf(error)})`;
  const of = { code, errno: -constants.errno[code], path };
  return Object.assign(new Error(line, { cause: error }), of);
}

/**
 * Steps from each version of `state.db` to the next; the first starts from an empty file. A released step is
 * never changed.
 *
 * An `item` is known by its kind and id, and is replaced as a whole. A `line` is added, in order, and never
 * changed. The value of either is JSON. `written` has the files that this machine has written, by path, each
 * sealed as an item is. A `fact` is either there or not.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE item (
     kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL,
     PRIMARY KEY (kind, id)
   ) STRICT;
   CREATE TABLE line (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL) STRICT;
   CREATE INDEX lines_of ON line (kind);`,
  `CREATE TABLE written (
     id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, seal TEXT NOT NULL
   ) STRICT;
   CREATE TABLE fact (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
  `DROP TABLE written;
   CREATE TABLE written (
     id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, value TEXT NOT NULL
   ) STRICT;`,
];
