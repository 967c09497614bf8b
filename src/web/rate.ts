/** Allows so many a second, in any second. */
export class Rate {
  readonly #most: number;
  readonly #now: () => number;
  /** When the last ones were taken, oldest first; at most {@link #most}. */
  readonly #taken: number[] = [];

  /** @param now milliseconds of any clock */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /** Takes one, unless as many were taken within the last second. */
  take(): boolean {
    const now = this.#now();
    const [oldest] = this.#taken;
    if (oldest !== undefined && this.#taken.length === this.#most) {
      if (now - oldest < 1000) return false;
      this.#taken.shift();
    }
    this.#taken.push(now);
    return true;
  }
}
