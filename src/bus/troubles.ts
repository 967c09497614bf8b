/** What goes wrong at present, and since when (ISO 8601 UTC). */
export interface Trouble {
  since: string;
  reason: string;
}

/** What goes wrong until it is over, by what it concerns. */
export class Troubles {
  readonly #found = new Map<string, Trouble>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** The one that was noted first of those that go on. */
  get first(): Trouble | undefined {
    return this.#found.values().next().value;
  }

  of(key: string): Trouble | undefined {
    return this.#found.get(key);
  }

  /** Notes that something goes wrong, or does no more; since when stays as it was. */
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

  /** Forgets what concerns anything else than this. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of [...this.#found.keys()]) if (!keys.has(key)) this.#found.delete(key);
  }
}
