/** A current problem, and its first time (ISO 8601 in UTC). */
export interface Trouble {
  since: string;
  reason: string;
}

/** Problems that last until they are over, by the item that they concern. */
export class Troubles {
  readonly #found = new Map<string, Trouble>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** The current problem that was noted first. */
  get first(): Trouble | undefined {
    return this.#found.values().next().value;
  }

  of(key: string): Trouble | undefined {
    return this.#found.get(key);
  }

  /** Records that a problem exists, or no longer exists; its first time is kept. */
  note(key: string, reason: string | undefined): void {
    if (reason === undefined) this.#found.delete(key);
    else {
      const since = this.#found.get(key)?.since ?? this.#now().toISOString();
      this.#found.set(key, { since, reason });
    }
  }

  over(key: string): void {
    this.#found.delete(key);
  }

  /** Removes all problems except those with these keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of [...this.#found.keys()]) if (!keys.has(key)) this.#found.delete(key);
  }
}
