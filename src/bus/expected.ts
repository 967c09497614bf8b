import type { OutboxEntry } from '../state/outbox.ts';

/**
 * Outbox entries that deliver something on this machine, until they are settled, whichever process
 * publishes them: a command that finds no dispatcher empties the whole outbox, even while a
 * dispatcher is just starting.
 */
export class Expected {
  readonly #entries = new Map<string, OutboxEntry>();

  /** Adds an entry, to be settled by this process. */
  add(entry: OutboxEntry): void {
    if (entry.delivery !== undefined) this.#entries.set(entry.id, entry);
  }

  /** Removes a settled entry. */
  remove(id: string): void {
    this.#entries.delete(id);
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  all(): OutboxEntry[] {
    return [...this.#entries.values()];
  }
}
