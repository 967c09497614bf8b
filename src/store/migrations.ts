/**
 * Steps from each version of `state.db` to the next; the first starts from an empty file. A released step is
 * never changed.
 *
 * An `item` is known by its kind and id, and is replaced as a whole. A `line` is added, in order, and never
 * changed. The value of either is JSON. `written` has the files that this machine has written, by path, each
 * sealed as an item is. A `fact` is either there or not.
 */
export const MIGRATIONS: readonly string[] = [
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
