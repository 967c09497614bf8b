import { waitFor } from '../../src/state/remote-budget.ts';
import type { Clock, Task } from './clock.ts';

/** A message on its way. Times are in milliseconds. */
export interface Message {
  sent: number;
  /** The tip with which it reached the remote. */
  landed?: number;
}

/** The durations of steps in milliseconds. */
export interface Costs {
  /** The median time of a push on the network, and of a fetch. */
  push: number;
  fetch: number;
  /** The variation of times: sigma of a log-normal distribution. */
  scatter: number;
  /**
   * When a push or fetch reads the remote's tip, and when a push takes the lock of the ref, as
   * shares of its time.
   */
  reads: number;
  locks: number;
  /** The time for which a push locks the ref. */
  locked: number;
  /** The processor time of a push, of a fetch, of building, and of each pushed message. */
  cpu: { push: number; fetch: number; build: number; message: number };
}

/** The branch on the remote, for which all hosts compete. */
export class Remote {
  /** The number of pushes that have moved the branch. */
  tip = 0;
  readonly #clock: Clock;
  readonly #limit: number | undefined;
  #accepted: number[] = [];
  #lockedUntil = 0;

  /**
   * @param limit the pushes per minute that the remote accepts for the repository; undefined for
   * any number
   */
  constructor(clock: Clock, limit?: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Whether the remote rejects a push because the limit of the repository is reached. */
  get throttles(): boolean {
    if (this.#limit === undefined) return false;
    const now = this.#clock.now;
    this.#accepted = this.#accepted.filter((at) => at > now - MINUTE_MS);
    return waitFor(this.#accepted, this.#limit, MINUTE_MS, now) > 0;
  }

  /** Takes the lock of the ref, one push after another; returns whether the branch was moved. */
  *move(base: number, messages: readonly Message[], locked: number): Task<boolean> {
    while (this.#clock.now < this.#lockedUntil) yield this.#lockedUntil - this.#clock.now;
    if (this.tip !== base) return false;
    this.tip++;
    this.#lockedUntil = this.#clock.now + locked;
    if (this.#limit !== undefined) this.#accepted.push(this.#clock.now);
    for (const message of messages) {
      if (message.landed !== undefined) throw new Error('a message was published twice');
      message.landed = this.tip;
    }
    return true;
  }
}

const MINUTE_MS = 60_000;
