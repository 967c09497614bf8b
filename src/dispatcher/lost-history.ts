import type { Departed } from '../state/departed.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';
import type { Archive } from './archive.ts';
import type { Log } from './log.ts';
import { vanished } from './vanished.ts';

export interface LostHistoryParts {
  transport: Transport;
  archive: Archive;
  log: Log;
  departed: Departed;
  /** The name of this machine, which commits of messages sent here carry. */
  hostname: string;
  /** Puts entries into the outbox, all of them, to be pushed with the next flush. */
  publishAgain: (entries: readonly Omit<OutboxEntry, 'id'>[]) => Promise<void>;
}

/** Histories that were on the bus and are no more. */
export class LostHistory {
  readonly #parts: LostHistoryParts;
  /** The commits that those of the rewrite under way ended with. */
  readonly #seen = new Set<string>();

  constructor(parts: LostHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Histories that were lost while no dispatcher ran, in which something of this machine is that is to
   * be published again: a command that sends more fetches what the branch was set back to.
   *
   * @param since the newest commit that a dispatcher of this machine has seen
   */
  async unseen(host: string, since: string, tip: string): Promise<string[]> {
    const { transport, hostname } = this.#parts;
    const lost: string[] = [];
    for (const commit of await transport.leftBehind(since)) {
      const { again } = await vanished(this.#parts, [host, hostname], commit, tip);
      if (again.length > 0) lost.push(commit);
    }
    return lost;
  }

  /**
   * Says that a history was rewritten, and puts into the outbox what vanished with it and is to be
   * published again; see {@link vanished}. Once for each commit that a history ended with, until the
   * rewrite is {@link over}.
   */
  async bringBack(host: string, from: string, tip: string): Promise<void> {
    if (this.#seen.has(from)) return;
    const { log, hostname, departed, publishAgain } = this.#parts;
    const { again, gone, missing } = await vanished(this.#parts, [host, hostname], from, tip);
    await departed.note(missing, true);
    await publishAgain(again);
    this.#seen.add(from);
    log('cursor_lost', {
      cursor: from,
      tip,
      published_again: again.length,
      gone,
      reason: 'the history was rewritten; what is unanswered is delivered',
    });
  }

  /** What came after a rewrite was taken in: the same may be lost once more, in the same commits. */
  over(): void {
    this.#seen.clear();
  }
}
