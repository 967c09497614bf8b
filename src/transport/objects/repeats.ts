/** Entries that may be read again in folders that stand at several places, in one channel and in all. */
const EACH = 200;
const ALL = 200_000;
/** Folders that share a part of what may be repeated: those of one channel. */
const DEPTH = 3;

/**
 * Keeps a walk through a tree in proportion to what had to be pushed for it. The same folder can be
 * in any number of places at the price of one name for each, and ten such folders nested make
 * billions of paths out of a kilobyte. Day folders of a transport are all different, because their
 * files are. Some copies made by hand are followed; after that, a folder that was seen before is
 * only reported.
 *
 * What may be repeated is counted for each channel, so that copies in one channel do not hide what
 * is new in another.
 */
export class Repeats {
  readonly #seen = new Set<string>();
  readonly #left = new Map<string, number>();
  #all = ALL;

  /**
   * Whether a folder may be read.
   *
   * @param oids of the folder; with two of them, those it is compared between
   * @returns `again` when {@link charge} has to be told what it held
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
