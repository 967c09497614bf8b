/** Messages, and bytes of them, that are heard in a second; a bus with 1,000 hosts stays below. */
const MOST_A_SECOND = 2000;
const MOST_BYTES_A_SECOND = 4 * 1024 * 1024;

/** Notices when more is said on a subject than machines of one bus say. */
export class Flood {
  readonly #now: () => number;
  #since = -Infinity;
  #messages = 0;
  #bytes = 0;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a message. @returns whether it is one too many */
  isOver(bytes: number): boolean {
    const now = this.#now();
    if (now - this.#since >= 1000) {
      this.#since = now;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages++;
    this.#bytes += bytes;
    return this.#messages > MOST_A_SECOND || this.#bytes > MOST_BYTES_A_SECOND;
  }
}
