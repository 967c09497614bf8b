import { number, text, type Database } from './sqlite.ts';
import { Store } from './store.ts';

/** Parses a line into its fields, which are texts and lists of texts; undefined if we have not written it. */
function lineOf(value: string): object | undefined {
  const isText = (one: unknown): boolean => typeof one === 'string';
  try {
    const line: unknown = JSON.parse(value);
    if (typeof line !== 'object' || line === null) return undefined;
    const isOurs = (one: unknown): boolean =>
      Array.isArray(one) ? one.every(isText) : isText(one);
    return Object.values(line).every(isOurs) ? line : undefined;
  } catch {
    return undefined;
  }
}

/** Number of lines that are added until those of their kind are counted. */
const COUNTED_EVERY = 256;

/** Lines of one kind in the database of a state directory, in the order in which they were added. */
export class Lines<T extends object> {
  readonly #store: Store;
  readonly #kind: string;
  readonly #most: number;

  /**
   * @param root the state directory
   * @param most lines that are remembered; of more, the older half is deleted
   */
  constructor(root: string, kind: string, most: number) {
    this.#store = Store.at(root);
    this.#kind = kind;
    this.#most = most;
  }

  /**
   * Adds lines, all or none; they are durable when it returns.
   *
   * @param also further work of the same step
   */
  async add(values: readonly T[], also?: (database: Database) => void): Promise<void> {
    if (values.length === 0) return;
    await this.#store.write((database) => {
      also?.(database);
      for (const value of values)
        database.run(
          'INSERT INTO line (kind, value) VALUES (?, ?)',
          this.#kind,
          JSON.stringify(value),
        );
      const select = `SELECT max(id) % ${String(COUNTED_EVERY)} AS n FROM line`;
      if (number(database.get(select) ?? {}, 'n') < values.length) this.#forget(database);
    });
  }

  all(): Promise<T[]> {
    return this.#store.read((database) => {
      const rows = database.all('SELECT value FROM line WHERE kind = ? ORDER BY id', this.#kind);
      return rows.flatMap((row) => (lineOf(text(row, 'value')) as T | undefined) ?? []);
    });
  }

  count(): Promise<number> {
    const select = 'SELECT count(*) AS n FROM line WHERE kind = ?';
    return this.#store.read((database) => number(database.get(select, this.#kind) ?? {}, 'n'));
  }

  #forget(database: Database): void {
    const count = 'SELECT count(*) AS n FROM line WHERE kind = ?';
    if (number(database.get(count, this.#kind) ?? {}, 'n') <= this.#most) return;
    database.run(
      `DELETE FROM line WHERE kind = ?1 AND id < (
         SELECT id FROM line WHERE kind = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
      this.#kind,
      Math.floor(this.#most / 2),
    );
  }
}
