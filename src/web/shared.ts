/**
 * A costly result that several callers request at the same time: it is computed once for all of
 * them, until an event occurs or it is too old. A failure is not kept.
 */
export class Shared<T> {
  readonly #make: () => Promise<T>;
  readonly #key: () => string;
  readonly #lifetime: number;
  #made: { key: string; at: number; result: Promise<T> } | undefined;

  /**
   * @param key a different key requires a new result
   * @param lifetime in milliseconds
   */
  constructor(make: () => Promise<T>, key: () => string, lifetime: number) {
    this.#make = make;
    this.#key = key;
    this.#lifetime = lifetime;
  }

  get(): Promise<T> {
    const [key, at] = [this.#key(), Date.now()];
    const known = this.#made;
    if (known?.key === key && at - known.at < this.#lifetime && at >= known.at) return known.result;
    const made = { key, at, result: this.#make() };
    this.#made = made;
    made.result.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made.result;
  }
}
