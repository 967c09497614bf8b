import type { Limits } from '../../src/state/remote-budget.ts';
import { waitFor } from '../../src/state/remote-budget.ts';
import { LONGEST_WAIT_MS, LOOK_MS, MAX_ALONG } from '../../src/state/turn.ts';
import { Gate, type Clock, type Task } from './clock.ts';
import type { Message } from './remote.ts';

/** What a host that waits for a turn would push, and how it is woken. */
export interface Ticket {
  since: number;
  messages: readonly Message[];
  called: Gate;
  /** The tip that contains its messages on the remote. */
  done?: number;
}

export interface Turn {
  kind: 'turn';
  /** The tip of the branch after the last turn. */
  tip: number | undefined;
  along: Ticket[];
}

const SLICE_MS = 3;

/**
 * The shared resources of one machine's hosts: its cores, its budget for the remote, and the turns
 * for pushing.
 */
export class Machine {
  /** The times at which pushes and reads were allowed, within the window. */
  readonly #taken: { pushes: number[]; reads: number[] } = { pushes: [], reads: [] };
  /** All pushes, and all that the budget allowed, for checks afterwards. */
  readonly pushes: number[] = [];
  readonly permits: number[] = [];
  readonly #clock: Clock;
  readonly #limits: Pick<Limits, 'pushesPerMinute' | 'readsPerSecond'>;
  /** The time from which each core is free. */
  readonly #cores: number[];
  #held = false;
  #lastTip: number | undefined;
  readonly #tickets: Ticket[] = [];

  constructor(
    clock: Clock,
    cores: number,
    limits: Pick<Limits, 'pushesPerMinute' | 'readsPerSecond'> = {},
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.#cores = Array.from({ length: cores }, () => 0);
  }

  /**
   * Uses a core for some milliseconds, in slices, so that all hosts that need one progress equally.
   */
  *work(ms: number): Task {
    for (let left = ms; left > 0; left -= SLICE_MS) {
      const free = Math.min(...this.#cores);
      const until = Math.max(this.#clock.now, free) + Math.min(left, SLICE_MS);
      this.#cores[this.#cores.indexOf(free)] = until;
      yield until - this.#clock.now;
    }
  }

  /** Waits until the budget of this machine allows a push or a read, and uses it. */
  *permit(kind: 'pushes' | 'reads'): Task {
    const [limit, window] =
      kind === 'pushes'
        ? [this.#limits.pushesPerMinute, 60_000]
        : [this.#limits.readsPerSecond, 1000];
    if (limit === undefined) return;
    for (;;) {
      const now = this.#clock.now;
      this.#taken[kind] = this.#taken[kind].filter((at) => at > now - window);
      const wait = waitFor(this.#taken[kind], limit, window, now);
      if (wait === 0) break;
      yield wait;
    }
    this.#taken[kind].push(this.#clock.now);
    if (kind === 'pushes') this.permits.push(this.#clock.now);
  }

  /** Whether a host is pushing in a turn at the moment. */
  get taking(): boolean {
    return this.#held;
  }

  /** Waits for a turn, or until another host has pushed these messages with its own. */
  *turn(messages: readonly Message[]): Task<Turn | { kind: 'done'; tip: number } | undefined> {
    if (!this.#held && this.#tickets.length === 0) return this.#begin();
    const ticket: Ticket = { since: this.#clock.now, messages, called: new Gate() };
    while (this.#clock.now - ticket.since < LONGEST_WAIT_MS) {
      if (!this.#tickets.includes(ticket)) this.#tickets.push(ticket);
      this.#tickets.sort((a, b) => a.since - b.since);
      this.#clock.after(LOOK_MS, () => {
        ticket.called.open();
      });
      yield ticket.called;
      if (ticket.done !== undefined) return { kind: 'done', tip: ticket.done };
      if (!this.#held) {
        this.#remove(ticket);
        return this.#begin();
      }
    }
    this.#remove(ticket);
    return undefined;
  }

  /**
   * Ends a turn, with the tip if the branch was moved, and wakes the host that has waited longest.
   */
  end(turn: Turn, tip: number | undefined): void {
    if (tip !== undefined) {
      this.#lastTip = tip;
      for (const ticket of turn.along) {
        ticket.done = tip;
        this.#remove(ticket);
        ticket.called.open();
      }
    }
    this.#held = false;
    this.#tickets[0]?.called.open();
  }

  #begin(): Turn {
    this.#held = true;
    return { kind: 'turn', tip: this.#lastTip, along: this.#tickets.slice(0, MAX_ALONG) };
  }

  #remove(ticket: Ticket): void {
    const at = this.#tickets.indexOf(ticket);
    if (at >= 0) this.#tickets.splice(at, 1);
  }
}
