/** Many times, in milliseconds, and how they spread. */
export class Times {
  count = 0;
  #times = new Float64Array(1024);

  note(ms: number): void {
    if (this.count === this.#times.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(this.#times);
      this.#times = larger;
    }
    this.#times[this.count++] = ms;
  }

  get spread(): { p50: number; p95: number; longest: number } {
    const sorted = this.#times.slice(0, this.count).sort();
    const at = (share: number): number =>
      sorted[Math.min(this.count - 1, Math.floor(share * this.count))] ?? Number.NaN;
    return { p50: at(0.5), p95: at(0.95), longest: at(1) };
  }
}
