/** The least time between two fetches that bring nothing, in milliseconds. */
const BETWEEN_FALSE_MS = 1000;

/** Runs something after some milliseconds, unless what it returns is called before that. */
export type Later = (ms: number, run: () => void) => () => void;

/**
 * Decides when what others say leads to a fetch. A ring may be false: anybody who reaches the server can
 * ring. So a fetch that a ring has led to and that brought nothing puts off the next one to a second after
 * it; those that bring news are as many as there is news.
 */
export class RungFetches {
  readonly #fetch: (tip: string | undefined) => void;
  readonly #known: () => string | undefined;
  readonly #now: () => number;
  readonly #later: Later;
  #lastFalse = -Infinity;
  /** Takes back what is to be asked for later. */
  #cancel: (() => void) | undefined;
  #wanted: string | undefined;
  /** A fetch is asked for, and has not begun. */
  #isAsked = false;
  /** A fetch that was asked for is under way. */
  #isUnderWay = false;

  /**
   * @param fetch asks for a fetch, which begins some time after that; it is told what there should be
   * @param known the commit up to which everything is known
   * @param now milliseconds of any clock
   * @param later waits in the time of the machine, unless another one is given
   */
  constructor(
    fetch: (tip: string | undefined) => void,
    known: () => string | undefined,
    now: () => number,
    later: Later = afterMs,
  ) {
    this.#fetch = fetch;
    this.#known = known;
    this.#now = now;
    this.#later = later;
  }

  /** Somebody says that the bus is at this commit; without one, that there may be news. */
  rung(tip?: string): void {
    if (tip !== undefined && tip === this.#known()) return;
    this.#wanted = tip ?? '';
    if (this.#isAsked || this.#isUnderWay || this.#cancel !== undefined) return;
    const wait = this.#lastFalse + BETWEEN_FALSE_MS - this.#now();
    if (wait <= 0) this.#ask();
    else
      this.#cancel = this.#later(wait, () => {
        this.#cancel = undefined;
        this.#ask();
      });
  }

  /** A fetch begins, whoever asked for it. */
  begin(): void {
    this.#isUnderWay = this.#isAsked;
    this.#isAsked = false;
    this.#wanted = undefined;
  }

  /** It is over. @param isNew whether it brought anything */
  end(isNew: boolean): void {
    if (this.#isUnderWay && !isNew) this.#lastFalse = this.#now();
    this.#isUnderWay = false;
    const wanted = this.#wanted;
    if (wanted !== undefined) this.rung(wanted === '' ? undefined : wanted);
  }

  stop(): void {
    this.#cancel?.();
  }

  #ask(): void {
    // The news may have come by another way.
    if (this.#wanted === undefined || this.#wanted === this.#known()) return;
    this.#isAsked = true;
    this.#fetch(this.#wanted === '' ? undefined : this.#wanted);
  }
}

const afterMs: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => {
    clearTimeout(timer);
  };
};
