import type { Departed } from '../../state/departed.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { LogPlace, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { Log } from '../../log.ts';
import { vanished } from './vanished.ts';

export interface LostHistoryParts {
  transport: Transport;
  reader: MessageReader;
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
  /** As far as the record of what the branch was set back from was read. */
  #place: LogPlace | undefined;

  constructor(parts: LostHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Histories that were lost while no dispatcher ran, in which something of this machine is that is to
   * be published again: a command that sends more fetches what the branch was set back to.
   *
   * @param since the newest commit that a dispatcher of this machine has seen; undefined when none has
   */
  async unseen(host: string, since: string | undefined, tip: string): Promise<string[]> {
    const { transport } = this.#parts;
    this.#place = (await transport.leftSince(undefined)).place;
    return this.#withOurs(await transport.leftBehind(since), host, tip);
  }

  /**
   * The same since this was asked last: a command that finds no dispatcher while one is starting sends
   * what that one has never seen.
   */
  async unseenSince(host: string, tip: string): Promise<string[]> {
    const { commits, place } = await this.#parts.transport.leftSince(this.#place);
    const lost = await this.#withOurs(commits, host, tip);
    this.#place = place;
    return lost;
  }

  /** Histories in which something of this machine is that is to be published again. */
  async #withOurs(commits: readonly string[], host: string, tip: string): Promise<string[]> {
    const lost: string[] = [];
    for (const commit of commits) {
      const { again } = await vanished(this.#parts, [host, this.#parts.hostname], commit, tip);
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
    await departed.note(missing, { lasting: true });
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
