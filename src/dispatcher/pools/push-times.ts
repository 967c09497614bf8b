/** Number of pushes that are remembered. */
const MOST = 100;

/** Times that the pushes of this machine's claims and beats took, the last ones. */
export class PushTimes {
  readonly #times: number[] = [];

  /** @param ms from the request until the remote had it */
  note(ms: number): void {
    this.#times.push(ms);
    if (this.#times.length > MOST) this.#times.shift();
  }

  /** The time that all but one of twenty took at most, in milliseconds; 0 before the first. */
  get p95(): number {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
  }
}
