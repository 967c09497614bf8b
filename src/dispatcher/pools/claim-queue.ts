import { claimPlace } from '../../protocol/claim.ts';
import type { Outbox, OutboxEntry } from '../../state/outbox.ts';

type Waiting = Pick<Outbox, 'all' | 'get' | 'remove' | 'setAside' | 'hold'>;

/**
 * Claims and their beats on their way to the bus, in front of the outbox. They are in memory only, so that none
 * outlives the process that would start the run (pools.md).
 */
export class ClaimQueue implements Waiting {
  readonly #outbox: Waiting;
  readonly #entries = new Map<string, OutboxEntry>();

  constructor(outbox: Waiting) {
    this.#outbox = outbox;
  }

  put(entry: OutboxEntry): void {
    this.#entries.set(entry.id, entry);
  }

  /** Whether an entry is one of these. */
  has(id: string): boolean {
    return this.#entries.has(id);
  }

  async all(): Promise<OutboxEntry[]> {
    const others = await this.#outbox.all();
    return this.#entries.size === 0 ? others : [...this.#entries.values(), ...others];
  }

  async get(id: string): Promise<OutboxEntry | undefined> {
    return this.#entries.get(id) ?? (await this.#outbox.get(id));
  }

  async remove(id: string, tip?: string): Promise<void> {
    if (!this.#entries.delete(id)) await this.#outbox.remove(id, tip);
  }

  async setAside(entry: OutboxEntry, reason: string, at: string): Promise<void> {
    if (!this.#entries.delete(entry.id)) await this.#outbox.setAside(entry, reason, at);
  }

  async hold(...[entry, found, at]: Parameters<Outbox['hold']>): Promise<void> {
    if (!this.#entries.delete(entry.id)) await this.#outbox.hold(unended(entry), found, at);
  }
}

/**
 * Returns a held answer without the condition that its claim has no end: it gets the end `held` at once, which the
 * answer replaces if a person lets it go.
 */
function unended(entry: OutboxEntry): OutboxEntry {
  const commits = entry.commits.map((commit) =>
    commit.requires === undefined
      ? commit
      : {
          ...commit,
          requires: commit.requires.filter(({ path }) => claimPlace(path)?.kind !== 'end'),
        },
  );
  return { ...entry, commits };
}
