/**
 * Pushes one after another: what is added while one is under way leaves together with the next. A push takes
 * along all that is in the outbox.
 */
export class Gathered {
  readonly #push: (entry: string) => Promise<unknown>;
  #under: Promise<void> | undefined;
  #next: { entry: string; done: Promise<void> } | undefined;
  #waiting = 0;

  /** @param push publishes an entry of the outbox */
  constructor(push: (entry: string) => Promise<unknown>) {
    this.#push = push;
  }

  /** How many entries wait for a push to begin. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when a push that began after this has ended, whatever became of it. */
  add(entry: string): Promise<void> {
    this.#waiting++;
    if (this.#under === undefined) return this.#begin(entry);
    const done =
      this.#next?.done ?? this.#under.then(() => this.#begin(this.#next?.entry ?? entry));
    this.#next = { entry, done };
    return done;
  }

  #begin(entry: string): Promise<void> {
    [this.#waiting, this.#next] = [0, undefined];
    const under = this.#push(entry)
      .catch(() => undefined)
      .then(() => {
        if (this.#next === undefined) this.#under = undefined;
      });
    this.#under = under;
    return under;
  }
}
