import type { Departed } from '../../state/departed.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { LogPlace, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { Log } from '../../log.ts';
import { vanished, type Vanished } from './vanished.ts';

export interface LostHistoryParts {
  transport: Transport;
  reader: MessageReader;
  log: Log;
  departed: Departed;
  /** The name of this machine, which commits of messages sent from here carry. */
  hostname: string;
  /** Puts all of the entries into the outbox, to be pushed with the next flush. */
  publishAgain: (entries: readonly Omit<OutboxEntry, 'id'>[]) => Promise<void>;
}

/** Histories that were once on the bus and no longer are. */
export class LostHistory {
  readonly #parts: LostHistoryParts;
  /** The last commits of the histories that the current rewrite removed. */
  readonly #seen = new Set<string>();
  /** How far the log of the tips before each set-back was read. */
  #place: LogPlace | undefined;

  constructor(parts: LostHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Histories that were lost while no dispatcher ran and that contain something of this machine to
   * publish again: a command that sends more also fetches the branch after it was set back.
   */
  async unseen(host: string, since: string | undefined, tip: string): Promise<string[]> {
    const { transport } = this.#parts;
    this.#place = (await transport.leftSince(undefined)).place;
    return this.#withOurs(await transport.leftBehind(since), host, tip);
  }

  /**
   * The same since the last call: a command that finds no dispatcher, while one is starting, sends
   * messages which that dispatcher has never seen.
   */
  async unseenSince(host: string, tip: string): Promise<string[]> {
    const { commits, place } = await this.#parts.transport.leftSince(this.#place);
    const lost = await this.#withOurs(commits, host, tip);
    this.#place = place;
    return lost;
  }

  /** Selects the histories that contain something of this machine to publish again. */
  async #withOurs(commits: readonly string[], host: string, tip: string): Promise<string[]> {
    const lost: string[] = [];
    for (const commit of commits) {
      const { again } = await this.#vanished(host, commit, tip);
      if (again.length > 0) lost.push(commit);
    }
    return lost;
  }

  /**
   * Reports that a history was rewritten, and puts what vanished with it and is to be published
   * again into the outbox; see {@link vanished}. Does so once for each last commit of a history,
   * until the rewrite is {@link over}.
   */
  async bringBack(host: string, from: string, tip: string): Promise<void> {
    if (this.#seen.has(from)) return;
    const { log, departed, publishAgain } = this.#parts;
    const { again, gone, missing } = await this.#vanished(host, from, tip);
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

  /**
   * What vanished between a history and the tip, which need not be what replaced it: what somebody
   * had taken out of it on purpose stays out when the branch is set back later.
   */
  async #vanished(host: string, from: string, tip: string): Promise<Vanished> {
    const { transport, hostname } = this.#parts;
    const names = [host, hostname];
    const next = await transport.replacedBy(from);
    if (next === undefined || next === tip) return vanished(this.#parts, names, from, tip);
    const { takenOut } = await vanished(this.#parts, names, from, next);
    return vanished(this.#parts, names, from, tip, takenOut);
  }

  /** Called after the new history was scanned: the same commits may be lost once more. */
  over(): void {
    this.#seen.clear();
  }
}
