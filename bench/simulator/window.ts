/** Counts what happens within a sliding span of time. Times ascend; milliseconds. */
export class Window {
  /** All that was noted, and the most of it within one span. */
  total = 0;
  most = 0;
  readonly #span: number;
  #times: number[] = [];
  #first = 0;

  constructor(span: number) {
    this.#span = span;
  }

  note(now: number): void {
    this.#times.push(now);
    this.total++;
    this.most = Math.max(this.most, this.within(now));
  }

  /** How many were noted in the span that ends now. */
  within(now: number): number {
    const times = this.#times;
    while ((times[this.#first] ?? Infinity) <= now - this.#span) this.#first++;
    if (this.#first > 1000 && this.#first * 2 > times.length) {
      this.#times = times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }
}
