import type { TurnBoard } from './turn-board.ts';

/** A turn that was taken. */
export interface Turn {
  kind: 'turn';
  /** The commit that the branch was at when the last turn ended; undefined when nobody said. */
  tip: string | undefined;
  /** What those who wait would push, which may be taken along. */
  waiting: { ticket: string; offer: string }[];
  /**
   * Ends the turn, and says which commit the branch is at now, if we moved it, and whose entries
   * were taken along.
   */
  end: (tip?: string, taken?: readonly string[]) => Promise<void>;
}

/** `done`: somebody took our entries along in their turn, and the branch is at `tip` since then. */
export type Taken = Turn | { kind: 'done'; tip: string };

/** Milliseconds to wait for the turn; after that git arbitrates. */
const LONGEST_WAIT_MS = 10_000;
/**
 * A waiting process that is not called looks on its own this often: the one that should call it may
 * have died.
 */
const LOOK_MS = 500;
/** No process waits for so long: an older ticket is left over. */
const ABANDONED_MS = 60_000;
/** A process that lost a race takes turns for this long. */
const CONTENDED_MS = 30_000;

/** So many of those who wait are taken along. */
const MAX_ALONG = 100;

/**
 * Turns that the clones of one remote on this machine take at pushing (protocol.md §10), so that
 * they do not reject one another. Turns are advisory: nobody waits long, and a process that gets no
 * turn, for whatever reason, goes ahead and lets git arbitrate, which costs a retry at worst.
 *
 * Turns are taken only while others push: after a lost race, or when somebody has the turn at the
 * moment. A lone host pays one look at a file.
 *
 * First come, first served: who has to wait leaves a ticket and watches it; whoever ends a turn
 * removes the oldest, which calls its owner. Sixteen processes that poll would take more of the
 * machine than what they wait for. A ticket says what its owner would push. Whoever has the turn
 * may push that along with their own entries, says so beside the ticket (`.done`), and removes the
 * ticket: then sixteen pushes become one. An owner that was not told, or died, pushes itself, and
 * finds its entries on the remote.
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

  /** Says that others push too. */
  lostRace(): void {
    this.#contendedUntil = this.#now() + CONTENDED_MS;
  }

  /**
   * The turn, if turns are being taken and it can be had before `signal` is aborted.
   *
   * @param offer what others may take along; asked for only where it has to be waited for
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
      // A folder that cannot be written: without turns, as from different machines.
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
        // Under its first name again, if somebody slipped in when it was called: it stays the oldest.
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

  /** Calls the process that has waited longest, and clears away what dead processes have left. */
  async #callNext(): Promise<void> {
    await this.#board.sweep(this.#now() - ABANDONED_MS);
    const [oldest] = await this.#board.tickets();
    if (oldest !== undefined) await this.#board.call(oldest);
  }
}
