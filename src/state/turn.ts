import type { TurnBoard } from './turn-board.ts';

/** A turn that was taken. */
export interface Turn {
  kind: 'turn';
  /** The commit that the branch was at when the last turn ended; undefined when none was recorded. */
  tip: string | undefined;
  /** Entries of waiting processes, which may be pushed along. */
  waiting: { ticket: string; offer: string }[];
  /**
   * Ends the turn, and records the present commit of the branch, if we moved it, and the tickets whose
   * entries were pushed along.
   */
  end: (tip?: string, taken?: readonly string[]) => Promise<void>;
}

/**
 * A turn; or `done` when another process pushed our entries in its turn, and the branch is at `tip` since
 * then.
 */
export type Taken = Turn | { kind: 'done'; tip: string };

/** Milliseconds to wait for the turn; after that git arbitrates. */
const LONGEST_WAIT_MS = 10_000;
/**
 * Milliseconds between checks of a waiting process that is not notified: the one that should notify it
 * may have died.
 */
const LOOK_MS = 500;
/** Milliseconds after which a ticket was abandoned, as no process waits for so long. */
const ABANDONED_MS = 60_000;
/** Milliseconds for which a process takes turns after it lost a race. */
const CONTENDED_MS = 30_000;

/** Maximum number of waiting entries that are pushed along. */
const MAX_ALONG = 100;

/**
 * Turns that the clones of one remote on this machine take at pushing (protocol.md §10), so that they do
 * not reject one another. Turns are advisory: nobody waits long, and a process that gets no turn, for
 * whatever reason, goes ahead and lets git arbitrate, which costs a retry at worst.
 *
 * Turns are taken only while others push: after a lost race, or when somebody has the turn at the moment.
 * A lone host pays one check of a file.
 *
 * First come, first served: a process that has to wait leaves a ticket and watches it; the end of a turn
 * removes the oldest, which notifies its owner. Sixteen polling processes would take more of the machine
 * than the work that they wait for. A ticket contains its owner's entries. The holder of the turn may
 * push those along with its own entries, records that next to the ticket (`.done`), and removes the
 * ticket: then sixteen pushes become one. An owner that was not notified pushes its own entries, and
 * finds them on the remote.
 */
export class Turns {
  readonly #board: TurnBoard;
  readonly #now: () => number;
  #contendedUntil = 0;

  /**
   * @param board shared by all who push to the remote's branch from this machine
   * @param now milliseconds
   */
  constructor(board: TurnBoard, now: () => number) {
    this.#board = board;
    this.#now = now;
  }

  /** Reports that others push too. */
  lostRace(): void {
    this.#contendedUntil = this.#now() + CONTENDED_MS;
  }

  /**
   * Takes the turn, if turns are being taken and it is free before `signal` is aborted.
   *
   * @param offer returns the entries that others may push along; called only when this process has to
   *   wait
   */
  async take(offer: () => string, signal?: AbortSignal): Promise<Taken | undefined> {
    const board = this.#board;
    try {
      if (this.#now() > this.#contendedUntil && !(await board.isTaken())) return undefined;
      await board.open();
      const got = await this.#wait(offer, signal);
      if (got?.kind !== 'free') return got;
      return {
        kind: 'turn',
        tip: await board.lastTip(),
        waiting: await this.#offers(),
        end: async (moved, taken = []) => {
          if (moved !== undefined) {
            await board.setLastTip(moved);
            for (const ticket of taken) await board.tellDone(ticket, moved);
          }
          await got.release();
          await this.#callNext();
        },
      };
    } catch {
      // The folder cannot be written: go on without turns, like different machines.
      return undefined;
    }
  }

  async #wait(
    offer: () => string,
    signal: AbortSignal | undefined,
  ): Promise<
    { kind: 'free'; release: () => Promise<void> } | { kind: 'done'; tip: string } | undefined
  > {
    const board = this.#board;
    if ((await board.tickets()).length === 0) {
      const release = await board.take();
      if (release !== undefined) return { kind: 'free', release };
    }
    const begun = this.#now();
    const ticket = board.newTicket(begun);
    const text = offer();
    try {
      for (let waited = 0; waited < LONGEST_WAIT_MS; waited = this.#now() - begun) {
        if (signal?.aborted === true) return undefined;
        // The ticket keeps its first name if another process took the turn when it was called, so it
        // stays the oldest.
        await board.leave(ticket, text);
        await board.called(ticket, LOOK_MS);
        const tip = await board.doneAt(ticket);
        if (tip !== undefined) return { kind: 'done', tip };
        const release = await board.take();
        if (release !== undefined) return { kind: 'free', release };
      }
      return undefined;
    } finally {
      await board.forget(ticket);
    }
  }

  async #offers(): Promise<Turn['waiting']> {
    const tickets = (await this.#board.tickets()).slice(0, MAX_ALONG);
    const read = tickets.map(async (ticket) => ({
      ticket,
      offer: await this.#board.offer(ticket),
    }));
    return (await Promise.all(read)).filter(({ offer }) => offer !== '');
  }

  /** Notifies the process that has waited longest, and removes the tickets of dead processes. */
  async #callNext(): Promise<void> {
    await this.#board.sweep(this.#now() - ABANDONED_MS);
    const [oldest] = await this.#board.tickets();
    if (oldest !== undefined) await this.#board.call(oldest);
  }
}
