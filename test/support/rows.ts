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
  const rows = within<unknown[]>(state, [], (database) => database.prepare(sql).all(kind));
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

/** The text of an item, as it stands there; of the first one where no id is given. */
export function textIn(state: string, kind: string, id?: string): string {
  const select = 'SELECT value FROM item WHERE kind = ?1 AND id = coalesce(?2, id) ORDER BY id';
  const row = within(
    state,
    undefined,
    (database) => database.prepare(select).get(kind, id ?? null) as unknown,
  );
  if (row === undefined) throw new Error(`there is no ${kind} ${id ?? ''}`);
  return (row as { value: string }).value;
}

/** All that the database holds in words, but for some kinds. */
export function allTextBut(state: string, ...kinds: string[]): string {
  const all = 'SELECT kind, id, value FROM item UNION ALL SELECT kind, id, value FROM line';
  const rows = within(state, [], (database) => database.prepare(all).all() as unknown[]);
  return (rows as { kind: string; id: unknown; value: string }[])
    .filter(({ kind }) => !kinds.includes(kind))
    .map((row) => Object.values(row).join(' '))
    .join('\n');
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

/** Adds a line, as whoever can write. */
export function plantLine(state: string, kind: string, line: Item): void {
  within(state, undefined, (database) => {
    const insert = 'INSERT INTO line (kind, value) VALUES (?, ?)';
    database.prepare(insert).run(kind, JSON.stringify(line));
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

/** Removes what is on record of what was settled. */
export function forgetFacts(state: string): void {
  within(state, undefined, (database) => {
    database.exec('DELETE FROM fact');
  });
}

/**
 * Lets the database refuse something from now on, as a disk might.
 *
 * @param kind of the items that it refuses; without one it refuses facts
 * @returns ends that
 */
export function refuse(state: string, kind?: string): () => void {
  const what = kind === undefined ? 'fact' : `item WHEN new.kind = '${kind}'`;
  within(state, undefined, (database) => {
    database.exec(
      `CREATE TRIGGER refuse BEFORE INSERT ON ${what}
       BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`,
    );
  });
  return () => {
    within(state, undefined, (database) => {
      database.exec('DROP TRIGGER refuse');
    });
  };
}

/**
 * Lets the database take no items of a kind from now on, as a full disk does, and the rest as ever.
 *
 * @returns ends that
 */
export function fill(state: string, kind: string): () => void {
  within(state, undefined, (database) => {
    // SQLite has no other number for another row, and says what it says of a full disk.
    database.exec(
      `CREATE TABLE filled (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
       INSERT INTO filled VALUES (9223372036854775807);
       CREATE TRIGGER fill BEFORE INSERT ON item WHEN new.kind = '${kind}'
       BEGIN INSERT INTO filled VALUES (NULL); END`,
    );
  });
  return () => {
    within(state, undefined, (database) => {
      database.exec('DROP TRIGGER fill; DROP TABLE filled');
    });
  };
}
