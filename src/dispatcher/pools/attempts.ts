import { claimFolder, type Claimed } from '../../protocol/claim.ts';
import type { ClaimRecords } from '../../state/claims.ts';

/**
 * Claims that this machine has made, on record until they are over: the next start succeeds them at once, as the lock
 * shows that this one is dead.
 */
export class Attempts {
  readonly #rows: ClaimRecords['own'];
  /** Those of earlier starts: their runs, by folder. */
  readonly #earlier = new Map<string, string>();
  /** Folders of claims that are on record. */
  readonly #recorded = new Set<string>();

  constructor({ own }: ClaimRecords) {
    this.#rows = own;
  }

  /** Learns what earlier starts have left. */
  async load(): Promise<void> {
    for (const { id, run } of await this.#rows.all()) {
      this.#earlier.set(id, run);
      this.#recorded.add(id);
    }
  }

  /** Whether a run is of an earlier start of this machine. */
  isEarlier(of: Claimed, run: string): boolean {
    return this.#earlier.get(claimFolder(of)) === run;
  }

  /** Records a claim that is about to be pushed. */
  async begin({ actor, channel, relPath }: Claimed, run: string): Promise<void> {
    const id = claimFolder({ actor, channel, relPath });
    await this.#rows.put({ id, channel, relPath, actor, run });
    this.#recorded.add(id);
  }

  /** Removes a claim that another host has got. */
  async lose(key: string): Promise<void> {
    if (this.#recorded.delete(key)) await this.#rows.remove(key);
  }

  /** Forgets a message whose claims are over. */
  async drop(key: string): Promise<void> {
    this.#earlier.delete(key);
    await this.lose(key);
  }
}
