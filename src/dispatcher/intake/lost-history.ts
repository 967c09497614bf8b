import type { Departed } from '../../state/departed.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Cursors } from '../../state/cursors.ts';
import { leftBehind, sinceAt } from '../../transport/clone/ref-log.ts';
import type { LogPlace, RefMove, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import type { Log } from '../../log.ts';
import { vanished, type Vanished } from './vanished.ts';

export interface LostHistoryParts {
  transport: Transport;
  reader: MessageReader;
  log: Log;
  departed: Departed;
  cursors: Pick<Cursors, 'lastMove' | 'setLastMove'>;
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
  /** What vanished with them, until it is brought back. */
  readonly #known = new Map<string, Vanished>();
  /** How far the log of the tips before each set-back was read. */
  #place: LogPlace | undefined;
  /** The last move that was read since then, if a set-back was among them. */
  #last: RefMove | undefined;

  constructor(parts: LostHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Histories that were lost since this machine looked for them the last time, and that contain something of
   * this machine to publish again: other processes of it fetch the branch after it was set back, too.
   *
   * @param host the alias under which this machine answers; undefined where it never did
   * @param since a commit at which the branch was looked at before; undefined when none is known
   */
  async unseen(
    host: string | undefined,
    since: string | undefined,
    tip: string,
  ): Promise<string[]> {
    const left = leftBehind(await this.#moves(since));
    const lost: string[] = [];
    for (const commit of left) {
      const { again, unexamined } = await this.#vanished(host, commit, tip);
      if (again.length > 0 || unexamined !== undefined) lost.push(commit);
    }
    if (left.length > 0 && lost.length === 0) await this.over();
    return lost;
  }

  /** What moved the branch since it was looked at, by this process or by one before it. */
  async #moves(since: string | undefined): Promise<RefMove[]> {
    const { transport, cursors } = this.#parts;
    const before = this.#place;
    const { moves, place } = await transport.movesSince(before);
    this.#place = place;
    if (leftBehind(moves).length > 0) this.#last = moves.at(-1);
    if (before?.log === place.log || leftBehind(moves).length === 0) return moves;
    const mark = await cursors.lastMove(transport.branch);
    if (mark !== undefined)
      return moves.slice(moves.findLastIndex((move) => nameOf(move) === mark) + 1);
    return since === undefined ? moves : sinceAt(moves, since);
  }

  /**
   * Reports that a history was rewritten, and puts what vanished with it and is to be published
   * again into the outbox; see {@link vanished}. Does so once for each last commit of a history,
   * until the rewrite is {@link over}.
   */
  async bringBack(host: string | undefined, from: string, tip: string): Promise<void> {
    if (this.#seen.has(from)) return;
    const { log, departed, publishAgain } = this.#parts;
    const { again, gone, missing, unexamined } = await this.#vanished(host, from, tip);
    await departed.note(missing, { lasting: true });
    await publishAgain(again);
    this.#seen.add(from);
    log('cursor_lost', {
      cursor: from,
      tip,
      published_again: again.length,
      gone,
      ...(unexamined && { unexamined }),
      reason: 'the history was rewritten; what is unanswered is delivered',
    });
  }

  /**
   * What vanished between a history and the tip, which need not be what replaced it: what somebody
   * had taken out of it on purpose stays out when the branch is set back later.
   */
  async #vanished(host: string | undefined, from: string, tip: string): Promise<Vanished> {
    const key = `${from} ${tip}`;
    const found = this.#known.get(key) ?? (await this.#lookAt(host, from, tip));
    // It may be much, and is asked for twice: whether there is anything, and what.
    if (!this.#known.delete(key)) this.#known.set(key, found);
    return found;
  }

  async #lookAt(host: string | undefined, from: string, tip: string): Promise<Vanished> {
    const { transport, hostname } = this.#parts;
    const names = [...new Set([host ?? hostname, hostname])];
    const next = await transport.replacedBy(from);
    if (next === undefined || next === tip) return vanished(this.#parts, names, from, tip);
    const { takenOut } = await vanished(this.#parts, names, from, next);
    return vanished(this.#parts, names, from, tip, takenOut);
  }

  /** Called after the new history was scanned: the same commits may be lost once more. */
  async over(): Promise<void> {
    this.#seen.clear();
    this.#known.clear();
    if (this.#last === undefined) return;
    await this.#parts.cursors.setLastMove(this.#parts.transport.branch, nameOf(this.#last));
    this.#last = undefined;
  }
}

function nameOf({ from, to, at }: RefMove): string {
  return `${from} ${to} ${String(at)}`;
}
