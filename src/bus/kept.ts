/** What each entry counts in addition to the bytes it was read from. */
const EACH = 1000;

/**
 * What files were parsed to, by the id of their content: the same content in many places, or asked
 * for again and again, is parsed once. The entry that was not asked for longest is forgotten first.
 * All who ask get the same value, so nobody may change it.
 */
export class Kept<T extends object> {
  readonly #limit: number;
  readonly #kept = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  /** @param limit bytes of files whose reading is kept */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(oid: string): T | undefined {
    const kept = this.#kept.get(oid);
    if (kept === undefined) return undefined;
    this.#kept.delete(oid);
    this.#kept.set(oid, kept);
    return kept.value;
  }

  /** @param bytes of the file, or as much as is kept of it */
  keep(oid: string, value: T, bytes: number): T {
    this.#bytes += bytes + EACH - (this.#kept.get(oid)?.bytes ?? 0);
    this.#kept.delete(oid);
    this.#kept.set(oid, { value, bytes: bytes + EACH });
    for (const [oldest, freed] of this.#kept) {
      if (this.#bytes <= this.#limit) break;
      this.#kept.delete(oldest);
      this.#bytes -= freed.bytes;
    }
    return value;
  }
}
