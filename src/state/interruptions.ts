import { Rows } from '../store/rows.ts';

/**
 * Counts, by delivery, of consecutive deaths of the dispatcher while messages were being processed. A run
 * that kills its dispatcher would be repeated, and paid for, at each restart.
 */
export class Interruptions {
  readonly #rows: Rows<{ id: string; count: number }>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#rows = new Rows(root, 'interruption');
  }

  /** Adds one to the count of a delivery, and returns it. The count is durable by then. */
  count(actor: string, channel: string, relPath: string): Promise<number> {
    return this.#rows.write((items) => {
      const id = `${actor}/${channel}/${relPath}`;
      const count = (items.get(id)?.count ?? 0) + 1;
      items.put({ id, count });
      return count;
    });
  }

  /** Removes the counts of deliveries whose run came to an end. */
  async clear(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    // Usually there is nothing, and then no write has to wait for the disk.
    if (await this.#rows.isEmpty()) return;
    await this.#rows.write((items) => {
      for (const relPath of relPaths) items.remove(`${actor}/${channel}/${relPath}`);
    });
  }
}
