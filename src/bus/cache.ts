/** Bytes that each entry counts in addition to those from which it was read. */
const EACH = 1000;

/**
 * A cache of parsed files, by the id of their content: content that appears in many places, or is
 * requested repeatedly, is parsed once. The least recently used entry is dropped first. All callers get
 * the same value, so none of them may change it.
 */
export class Cache<T extends object> {
  readonly #limit: number;
  readonly #kept = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  /** @param limit maximum bytes of the files whose results are cached */
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

  /** @param bytes the size of the file, or of the cached part */
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
