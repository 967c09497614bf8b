import { chmodSync, closeSync, openSync } from 'node:fs';
import type {
  DatabaseSyncInstance,
  SqliteModule,
  StatementSyncInstance,
} from '@photostructure/sqlite';
import { atPath } from '../at-path.ts';
import { CrosstalkError, hasCode, reasonOf } from '../errors.ts';

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
/** Bytes of SQLite's smallest file. */
const PAGE = 4096;
/** SQLite's result code for a file that it cannot open. */
export const CANNOT_OPEN = 14;

/**
 * Returns a value as SQLite is to take it. A large number would be bound as a real, and a condition on the rowid of a
 * full-text table counts for nothing then: every row would be found, or deleted.
 */
function bound(value: string | number): string | number | bigint {
  return Number.isInteger(value) ? BigInt(value) : value;
}

/** A row as SQLite returns it. */
export type Row = Record<string, string | number | null>;

/** An open connection with prepared statements. All calls are synchronous. */
export class Database {
  readonly #connection: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();

  constructor(connection: DatabaseSyncInstance) {
    this.#connection = connection;
  }

  run(sql: string, ...values: (string | number)[]): number {
    return this.#prepare(sql).run(...values.map(bound)).changes;
  }

  all(sql: string, ...values: (string | number)[]): Row[] {
    return this.#prepare(sql).all(...values.map(bound)) as Row[];
  }

  get(sql: string, ...values: (string | number)[]): Row | undefined {
    return this.#prepare(sql).get(...values.map(bound)) as Row | undefined;
  }

  /** Executes statements that take no values and return nothing. */
  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Version number of the file's schema, set by its owner; 0 for a new file. */
  get version(): number {
    // Not cached: a cached statement stays open with the file.
    return Number((this.#connection.prepare('PRAGMA user_version').get() as Row)['user_version']);
  }

  /** Carries out all of the work or none of it, excluding other processes that write. */
  transaction<T>(work: () => T, onWritten?: () => void): T {
    this.#connection.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      onWritten?.();
      this.#connection.exec('COMMIT');
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /**
   * Rolls back. After some errors, such as that of a full disk, SQLite has done so already, and refuses to do it twice.
   */
  #rollBack(): void {
    try {
      this.#connection.exec('ROLLBACK');
    } catch {
      // The original error says more.
    }
  }

  /** Moves the write-ahead log into the file, unless it is being read. */
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

/**
 * Opens a database, or creates it, for this user alone whatever the umask is.
 *
 * @param path `:memory:` for one that only this process uses
 * @param timeout milliseconds to wait for a process that writes
 * @throws CrosstalkError `internal` if SQLite cannot be loaded; the error of SQLite otherwise
 */
export async function connect(path: string, timeout: number): Promise<Database> {
  const { DatabaseSync } = await loadSqlite();
  if (path !== ':memory:') keepPrivate(path);
  return new Database(new DatabaseSync(path, { timeout }));
}

/** Whether an error means that the file, or a file beside it, cannot be written. */
export function isUnwritable(error: unknown): boolean {
  return UNWRITABLE.has(resultOf(error));
}

/** Whether an error means that there is no room for the file, or for a file beside it. */
export function isFull(error: unknown): boolean {
  return resultOf(error) === FULL;
}

/** Whether an error means that the file is damaged. */
export function isBroken(error: unknown): boolean {
  return BROKEN.has(resultOf(error));
}

/** Returns an error which means that the file is damaged. */
export function broken(message: string): Error {
  return Object.assign(new Error(message), { errcode: 11 });
}

/** Whether an error means that another process is writing. */
export function isBusy(error: unknown): boolean {
  return resultOf(error) === BUSY;
}

/**
 * Creates the file if it is missing, readable only by its owner: SQLite gives its other files the same permissions. An
 * existing file loses further permissions; it is not opened, because closing any descriptor of a file drops the locks
 * that this process has on it.
 *
 * @throws CrosstalkError `refused` if something else is in the place of one of them, which may lead to somebody's file
 */
function keepPrivate(path: string): void {
  // The log first: another process that makes both at this moment makes it last.
  const [log = 0, size = 0] = [`${path}-wal`, path].map((part) => {
    const found = atPath(part, { follow: false });
    return found?.isFile() === true ? found.size : 0;
  });
  // SQLite would take it for a new database, and remove its log.
  if (size < PAGE && size + log > 0) throw broken('cut off');
  for (const part of [path, `${path}-wal`, `${path}-shm`]) {
    const found = atPath(part, { follow: false });
    if (found?.isFile() === false)
      throw Object.assign(
        new CrosstalkError(
          'refused',
          `${part} is no plain file, so crosstalk has not made it: end what runs here, and move it away`,
        ),
        { errcode: CANNOT_OPEN },
      );
    if (found === undefined && part === path) make(path);
    // A user who may not change its permissions may still be able to read it.
    if (found !== undefined && (found.mode & 0o077) !== 0)
      try {
        chmodSync(part, 0o600);
      } catch {
        return;
      }
  }
}

/**
 * Creates a file, if it is missing.
 *
 * @throws the error of the system, which says more than SQLite's for every file that it cannot open
 */
function make(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    const errcode = hasCode(error, 'ENOSPC') ? FULL : CANNOT_OPEN;
    throw Object.assign(error as Error, { errcode });
  }
}

async function loadSqlite(): Promise<Pick<SqliteModule, 'DatabaseSync'>> {
  try {
    return await import('@photostructure/sqlite');
  } catch (error) {
    throw new CrosstalkError(
      'internal',
      `crosstalk needs SQLite, which could not be loaded for ${process.platform}-${process.arch}: ${reasonOf(error)}; install crosstalk again with: npm install`,
      { cause: error },
    );
  }
}

/** Result codes of errors that state it only in words, as those of rows that are read one after another. */
const SAID: Readonly<Record<string, number>> = {
  'database is locked': BUSY,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'file is not a database': 26,
};

/** Returns SQLite's result code of an error, without the extended part; 0 for another error. */
export function resultOf(error: unknown): number {
  const { errcode, code, message } = (error ?? {}) as Partial<Record<string, unknown>>;
  if (typeof errcode === 'number') return errcode & 0xff;
  return code === 'ERR_SQLITE_ERROR' ? (SAID[String(message)] ?? 0) : 0;
}

export function text(row: Row, column: string): string {
  return String(row[column] ?? '');
}

export function number(row: Row, column: string): number {
  return Number(row[column] ?? 0);
}
