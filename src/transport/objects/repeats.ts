/** Maximum entries read again in folders that occur at several places, in one channel and in all. */
const EACH = 200;
const ALL = 200_000;
/** Length of the common path of folders that share a limit: those of one channel. */
const DEPTH = 3;

/**
 * A limit that keeps a walk through a tree in proportion to the bytes pushed for it. The same folder can
 * occur at any number of places at the cost of one name for each, and ten such nested folders make
 * billions of paths out of a kilobyte. Day folders of a transport are all different, because their files
 * are. Some copies made by hand are followed; after that, a folder that was seen before is only reported.
 *
 * Repeats are counted for each channel, so that copies in one channel do not hide new files in another.
 */
export class Repeats {
  readonly #seen = new Set<string>();
  readonly #left = new Map<string, number>();
  #all = ALL;

  /**
   * Decides whether a folder may be read.
   *
   * @param oids of the folder; for a comparison, of both its sides
   * @returns `again` when {@link charge} must be called with the number of its entries
   */
  look(path: string, oids: readonly (string | undefined)[]): 'fresh' | 'again' | 'enough' {
    const named = oids.filter((oid) => oid !== undefined);
    const isFresh = named.every((oid) => !this.#seen.has(oid));
    for (const oid of named) this.#seen.add(oid);
    if (isFresh) return 'fresh';
    return this.#all > 0 && (this.#left.get(keyOf(path)) ?? EACH) > 0 ? 'again' : 'enough';
  }

  /** Counts a folder that was read again, by the number of its entries. */
  charge(path: string, entries: number): void {
    const key = keyOf(path);
    this.#left.set(key, (this.#left.get(key) ?? EACH) - 1 - entries);
    this.#all -= 1 + entries;
  }
}

function keyOf(path: string): string {
  return path.split('/', DEPTH).join('/');
}
