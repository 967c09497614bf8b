import { dirname } from 'node:path';
import { Seal } from './seal.ts';
import { text, type Database } from './sqlite.ts';
import { Store } from './store.ts';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hasCode } from '../errors.ts';

/** Most characters of an id in the name of a file. */
const MAX_ID = 100;

/** Items of one kind, within one step of a store. */
class Items<T extends { id: string }> {
  readonly #database: Database;
  readonly #kind: string;
  readonly #seal: Seal;
  /** Ids of items that this machine has not written. */
  readonly foreign: string[] = [];

  constructor(database: Database, kind: string, seal: Seal) {
    this.#database = database;
    this.#kind = kind;
    this.#seal = seal;
  }

  put(item: T): void {
    const insert = 'INSERT OR REPLACE INTO item (kind, id, value) VALUES (?, ?, ?)';
    this.#database.run(insert, this.#kind, item.id, this.#seal.close(item.id, item));
  }

  get(id: string): T | undefined {
    const select = 'SELECT value FROM item WHERE kind = ? AND id = ?';
    const row = this.#database.get(select, this.#kind, id);
    return row && this.#opened(id, text(row, 'value'));
  }

  has(id: string): boolean {
    const select = 'SELECT 1 FROM item WHERE kind = ? AND id = ?';
    return this.#database.get(select, this.#kind, id) !== undefined;
  }

  /** Returns the items in the order of their ids; ids are ULIDs, so this is the order of age. */
  all(): T[] {
    const select = 'SELECT id, value FROM item WHERE kind = ? ORDER BY id';
    const rows = this.#database.all(select, this.#kind);
    return rows.flatMap((row) => this.#opened(text(row, 'id'), text(row, 'value')) ?? []);
  }

  /** Returns the ids of all items, readable or not. */
  ids(): string[] {
    const select = 'SELECT id FROM item WHERE kind = ? ORDER BY id';
    return this.#database.all(select, this.#kind).map((row) => text(row, 'id'));
  }

  isEmpty(): boolean {
    const select = 'SELECT 1 FROM item WHERE kind = ? LIMIT 1';
    return this.#database.get(select, this.#kind) === undefined;
  }

  /** Removes an item; returns whether it existed. */
  remove(id: string): boolean {
    return this.#database.run('DELETE FROM item WHERE kind = ? AND id = ?', this.#kind, id) > 0;
  }

  /** Saves items that this machine has not written beside the database, for a person to look at. */
  setAside(path: string, ids: readonly string[]): void {
    for (const id of ids) {
      const select = 'SELECT value FROM item WHERE kind = ? AND id = ?';
      const row = this.#database.get(select, this.#kind, id);
      if (row === undefined) continue;
      const named = encodeURIComponent(id).slice(0, MAX_ID);
      writeAside([path, this.#kind, named].filter((part) => part).join('.'), text(row, 'value'));
      this.remove(id);
    }
  }

  #opened(id: string, value: string): T | undefined {
    const sealed = this.#seal.open(id, value);
    if (sealed !== undefined) return JSON.parse(sealed) as T;
    this.foreign.push(id);
    return undefined;
  }
}

/**
 * Items of one kind in the database of a state directory, each known by its id. They are sealed: an item
 * counts because this machine wrote it, and a foreign one is saved as `state.db.<kind>.<id>.broken`.
 */
export class Rows<T extends { id: string }> {
  readonly #store: Store;
  readonly #kind: string;
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string, kind: string) {
    this.#store = Store.at(root);
    this.#kind = kind;
    this.#seal = new Seal(dirname(this.#store.path), kind);
  }

  put(item: T): Promise<void> {
    return this.write((items) => {
      items.put(item);
    });
  }
  get(id: string): Promise<T | undefined> {
    return this.#read((items) => items.get(id));
  }
  has(id: string): Promise<boolean> {
    return this.#read((items) => items.has(id));
  }
  all(): Promise<T[]> {
    return this.#read((items) => items.all());
  }
  ids(): Promise<string[]> {
    return this.#read((items) => items.ids());
  }
  /** Whether there is no item, not even a foreign one. */
  isEmpty(): Promise<boolean> {
    return this.#read((items) => items.isEmpty());
  }
  async remove(id: string): Promise<void> {
    // Most often there is none, and a check need not wait for a disk.
    if (await this.has(id)) await this.write((items) => items.remove(id));
  }

  /** Returns the items within a step of the store, where several kinds change together. */
  in(database: Database): Items<T> {
    return new Items(database, this.#kind, this.#seal);
  }

  /** Carries out a step on the items atomically. */
  write<R>(step: (items: Items<T>) => R): Promise<R> {
    return this.#store.write((database) => step(this.in(database)));
  }

  async #read<R>(step: (items: Items<T>) => R): Promise<R> {
    const [result, foreign] = await this.#store.read((database) => {
      const items = this.in(database);
      return [step(items), items.foreign] as const;
    });
    // On a full disk the foreign item stays, and counts for nothing there either.
    if (foreign.length > 0)
      await this.write((items) => {
        items.setAside(this.#store.path, foreign);
      }).catch(() => undefined);
    return result;
  }
}

/** A value in the database of a state directory, sealed as {@link Rows} are. */
export class Cell<T extends object> {
  readonly #rows: Rows<{ id: string; is: T }>;

  /** @param root the state directory */
  constructor(root: string, kind: string) {
    this.#rows = new Rows(root, kind);
  }

  async get(): Promise<T | undefined> {
    return (await this.#rows.get(''))?.is;
  }

  /** @param value undefined to remove it */
  async set(value: T | undefined): Promise<void> {
    await (value === undefined ? this.#rows.remove('') : this.#rows.put({ id: '', is: value }));
  }

  /** Replaces the value by the result of `make`, atomically; returns the previous value. */
  change(make: (value: T | undefined) => T | undefined): Promise<T | undefined> {
    return this.#rows.write((items) => {
      const before = items.get('')?.is;
      const value = make(before);
      if (value !== undefined) items.put({ id: '', is: value });
      else if (before !== undefined) items.remove('');
      return before;
    });
  }
}

/**
 * Saves a text as `<path>.broken`, in a file that did not exist: in its place there may be a symlink to
 * somebody's file, or a named pipe that blocks the writer for ever.
 */
function writeAside(path: string, content: string): void {
  const write = (name: string): void => {
    writeFileSync(`${name}.broken`, content, { mode: 0o600, flag: 'wx' });
  };
  try {
    write(path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    write(`${path}.${randomBytes(8).toString('hex')}`);
  }
}
