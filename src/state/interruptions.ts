import { Rows } from '../store/rows.ts';

/**
 * How often in a row the dispatcher died while messages were being processed, by delivery. A run
 * that kills its dispatcher would be repeated, and paid for, at each restart.
 */
export class Interruptions {
  readonly #rows: Rows<{ id: string; count: number }>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#rows = new Rows(root, 'interruption');
  }

  /** Counts one more for a delivery; returns how many there are now. Durable when it returns. */
  count(actor: string, channel: string, relPath: string): Promise<number> {
    return this.#rows.write((items) => {
      const id = `${actor}/${channel}/${relPath}`;
      const count = (items.get(id)?.count ?? 0) + 1;
      items.put({ id, count });
      return count;
    });
  }

  /** Forgets deliveries whose run came to an end. */
  async clear(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    // Nobody waits for a disk where there is nothing, as there is most often.
    if (await this.#rows.isEmpty()) return;
    await this.#rows.write((items) => {
      for (const relPath of relPaths) items.remove(`${actor}/${channel}/${relPath}`);
    });
  }
}
