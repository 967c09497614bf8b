import { isRecord, readJson, writeDurably } from './files.ts';

/**
 * How often in a row the dispatcher died while messages were being processed, by delivery. A run
 * that kills its dispatcher would be repeated, and paid for, at each restart.
 */
export class Interruptions {
  readonly #path: string;
  #counts: Map<string, number> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Counts one more for a delivery; returns how many there are now. Durable when it returns. */
  async count(actor: string, channel: string, relPath: string): Promise<number> {
    const counts = await this.#load();
    const key = `${actor}/${channel}/${relPath}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    await this.#save(counts);
    return count;
  }

  /** Forgets deliveries whose run came to an end. */
  async clear(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    const counts = await this.#load();
    const before = counts.size;
    for (const relPath of relPaths) counts.delete(`${actor}/${channel}/${relPath}`);
    if (counts.size !== before) await this.#save(counts);
  }

  async #save(counts: Map<string, number>): Promise<void> {
    await writeDurably(this.#path, `${JSON.stringify(Object.fromEntries(counts))}\n`);
  }

  async #load(): Promise<Map<string, number>> {
    if (this.#counts !== undefined) return this.#counts;
    const { value } = (await readJson(this.#path)) ?? {};
    const entries = isRecord(value) ? Object.entries(value) : [];
    this.#counts = new Map(
      entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
    );
    return this.#counts;
  }
}
