import type { DispatcherApp } from '../../bus/app.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Cursors } from '../../state/cursors.ts';
import { leftBehind, replacedBy, stoodBefore } from '../../transport/clone/ref-log.ts';
import type { LogPlace, RefMove } from '../../transport/transport.ts';
import { findLost, type LostCommits } from './lost-commits.ts';

/** Dependencies of {@link LostHistory}. */
export interface LostHistoryApp extends Pick<
  DispatcherApp,
  'transport' | 'written' | 'settled' | 'log'
> {
  cursors: Pick<Cursors, 'lastMove' | 'setLastMove'>;
  /** Puts all of the entries into the outbox, to be pushed with the next flush. */
  publishAgain: (entries: readonly Omit<OutboxEntry, 'id'>[]) => Promise<void>;
}

/** Histories that were once on the bus and no longer are. */
export class LostHistory {
  readonly #app: LostHistoryApp;
  /** The last commits of the histories that the current rewrite removed. */
  readonly #seen = new Set<string>();
  /** Findings by the last commit of a history and the tip, which are looked at before files are published again. */
  readonly #found = new Map<string, LostCommits>();
  /** Position up to which the log of the tips before each set-back was read. */
  #place: LogPlace | undefined;
  /** The last move that was read since then, if a set-back was among them. */
  #last: RefMove | undefined;

  constructor(app: LostHistoryApp) {
    this.#app = app;
  }

  /**
   * Histories that were lost since this machine looked for them the last time, and that contain something of
   * this machine to publish again: other processes of it fetch the branch after it was set back, too.
   */
  async unseen(tip: string): Promise<string[]> {
    const left = leftBehind(await this.#moves());
    const lost: string[] = [];
    for (const commit of left) {
      const { back, left: more } = await this.#vanished(commit, tip);
      if (back + more > 0) lost.push(commit);
    }
    if (left.length > 0 && lost.length === 0) await this.over();
    return lost;
  }

  /** Returns the moves of the branch since the last look, by this process or by one before it. */
  async #moves(): Promise<RefMove[]> {
    const { transport, cursors } = this.#app;
    const before = this.#place;
    const { moves, place } = await transport.movesSince(before);
    this.#place = place;
    if (leftBehind(moves).length > 0) this.#last = moves.at(-1);
    if (before?.log === place.log || leftBehind(moves).length === 0) return moves;
    const mark = await cursors.lastMove(transport.branch);
    return moves.slice(moves.findLastIndex((move) => nameOf(move) === mark) + 1);
  }

  /**
   * Reports that a history was rewritten, and puts the lost files that are to be published again into the outbox; see
   * {@link findLost}. Does so once for each last commit of a history, until the rewrite is {@link over}.
   */
  async bringBack(from: string, tip: string): Promise<void> {
    if (this.#seen.has(from)) return;
    const { log, settled, publishAgain } = this.#app;
    const { again, back, gone, missing, left } = await this.#vanished(from, tip);
    await settled.gone(missing);
    await publishAgain(again);
    this.#seen.add(from);
    log('cursor_lost', {
      cursor: from,
      tip,
      published_again: back,
      gone,
      ...(left > 0 && { left }),
      reason: 'the history was rewritten; what is unanswered is delivered',
    });
  }

  /**
   * Returns the files lost between a history and the tip, which need not be the one that replaced it: files that
   * somebody had removed from it on purpose stay out when the branch is set back later.
   */
  async #vanished(from: string, tip: string): Promise<LostCommits> {
    const pair = `${from} ${tip}`;
    const found = this.#found.get(pair) ?? (await this.#compare(from, tip));
    this.#found.set(pair, found);
    return found;
  }

  async #compare(from: string, tip: string): Promise<LostCommits> {
    const { moves } = await this.#app.transport.movesSince();
    const lost = { from, before: stoodBefore(moves, from) };
    const next = replacedBy(moves, from);
    if (next === undefined || next === tip) return findLost(this.#app, lost, tip);
    const { takenOut } = await findLost(this.#app, lost, next);
    return findLost(this.#app, lost, tip, { without: takenOut });
  }

  /** Called after the new history was scanned: the same commits may be lost once more. */
  async over(): Promise<void> {
    this.#seen.clear();
    this.#found.clear();
    if (this.#last === undefined) return;
    await this.#app.cursors.setLastMove(this.#app.transport.branch, nameOf(this.#last));
    this.#last = undefined;
  }
}

function nameOf({ from, to, at }: RefMove): string {
  return `${from} ${to} ${String(at)}`;
}
