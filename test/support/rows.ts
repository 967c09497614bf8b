import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { Seal } from '../../src/store/seal.ts';

/** What tests see of a machine's database, and change in it as somebody would who can only write. */
type Item = Record<string, unknown>;

function within<T>(state: string, nothing: T, step: (database: DatabaseSyncInstance) => T): T {
  const path = join(state, 'state.db');
  if (!existsSync(path)) return nothing;
  const database = new DatabaseSync(path, { timeout: 5000 });
  try {
    return step(database);
  } finally {
    database.close();
  }
}

function values(state: string, sql: string, kind: string): Item[] {
  const rows = within(state, [], (database) => database.prepare(sql).all(kind));
  return (rows as { value: string }[]).map(({ value }) => JSON.parse(value) as Item);
}

/** The items of one kind, in the order of their ids; each with its seal. */
export function rowsIn(state: string, kind: string): Item[] {
  return values(state, 'SELECT value FROM item WHERE kind = ? ORDER BY id', kind);
}

/** Of one kind, oldest first. */
export function linesIn(state: string, kind: string): Item[] {
  return values(state, 'SELECT value FROM line WHERE kind = ? ORDER BY id', kind);
}

/** The value of a kind that has only one. */
export function cellIn(state: string, kind: string): Item | undefined {
  return rowsIn(state, kind)[0]?.['is'] as Item | undefined;
}

/** Writes an item as this machine does. */
export function putRow(state: string, kind: string, item: Item & { id: string }): void {
  plantRow(state, kind, item.id, new Seal(state, kind).close(item.id, item));
}

/** Writes a text in the place of an item, as whoever can write but not seal. */
export function plantRow(state: string, kind: string, id: string, value: string): void {
  within(state, undefined, (database) => {
    const insert = 'INSERT OR REPLACE INTO item (kind, id, value) VALUES (?, ?, ?)';
    database.prepare(insert).run(kind, id, value);
  });
}

/** Takes away all items and lines of some kinds. */
export function forget(state: string, ...kinds: string[]): void {
  within(state, undefined, (database) => {
    for (const kind of kinds)
      for (const table of ['item', 'line'])
        database.prepare(`DELETE FROM ${table} WHERE kind = ?`).run(kind);
  });
}

/**
 * Lets the database refuse to take items of a kind from now on, as a disk might.
 *
 * @returns ends that
 */
export function refuse(state: string, kind: string): () => void {
  within(state, undefined, (database) => {
    database.exec(
      `CREATE TRIGGER refuse BEFORE INSERT ON item WHEN new.kind = '${kind}'
       BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`,
    );
  });
  return () => {
    within(state, undefined, (database) => {
      database.exec('DROP TRIGGER refuse');
    });
  };
}
