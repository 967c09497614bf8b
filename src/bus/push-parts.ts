import type { OutboxEntry } from '../state/outbox.ts';
import type { Failure, Published } from '../transport/transport.ts';

/** Maximum number of entries in one push. */
const MAX_ENTRIES = 1000;
/**
 * Number of refusals without a successful push after which the remote is assumed to refuse everything for
 * now.
 */
const MOST_REFUSALS = 20;

type Entries = readonly OutboxEntry[];

/** The callbacks for the results of the parts. */
export interface Told {
  pushed: (entries: Entries, result: Published & { ok: true }) => Promise<void>;
  /** The remote does not accept a push as large as this one entry. */
  tooLarge: (entry: OutboxEntry, reason: string) => Promise<void>;
  failed: (entries: Entries, failure: Failure) => void;
}

/**
 * A pusher of entries in parts. When the remote refuses them, or they are too large for it, they are
 * pushed in halves, so that one entry cannot block the rest. A remote that refuses everything is not
 * contacted for each entry.
 */
export class PushParts {
  /** Entries that were refused on their own. */
  #refused = new Set<string>();

  /**
   * Divides the waiting entries into pushes, in order: entries that were refused before come last.
   */
  of(all: Entries): OutboxEntry[][] {
    const last = all.filter(({ id }) => this.#refused.has(id));
    this.#refused = new Set(last.map(({ id }) => id));
    const inOrder = [...all.filter(({ id }) => !this.#refused.has(id)), ...last];
    const parts: OutboxEntry[][] = [];
    for (let at = 0; at < inOrder.length; at += MAX_ENTRIES)
      parts.push(inOrder.slice(at, at + MAX_ENTRIES));
    return parts;
  }

  async push(
    entries: Entries,
    push: (entries: Entries) => Promise<Published>,
    told: Told,
  ): Promise<void> {
    const parts = [entries];
    let refusals = 0;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      const result = await push(part);
      if (result.ok) {
        refusals = 0;
        await told.pushed(part, result);
        continue;
      }
      const { failure } = result;
      const isTooLarge = failure.kind === 'too_large';
      if (failure.kind === 'rejected') refusals++;
      const [first] = part.length === 1 ? part : [];
      if (first !== undefined && isTooLarge) {
        await told.tooLarge(first, failure.reason);
      } else if (refusals >= MOST_REFUSALS) {
        told.failed([...part, ...parts.flat()], failure);
        return;
      } else if (first === undefined && (isTooLarge || failure.kind === 'rejected')) {
        const middle = Math.ceil(part.length / 2);
        parts.unshift(part.slice(0, middle), part.slice(middle));
      } else {
        if (first !== undefined && failure.kind === 'rejected') this.#refused.add(first.id);
        told.failed(part, failure);
      }
    }
  }
}
