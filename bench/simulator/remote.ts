import { waitFor } from '../../src/state/remote-budget.ts';
import type { Clock, Task } from './clock.ts';

/** A message on its way. Times in milliseconds. */
export interface Message {
  sent: number;
  /** Which tip brought it to the remote. */
  landed?: number;
}

/** How long things take. Milliseconds. */
export interface Costs {
  /** Median of a push's time on the network, and of a fetch's. */
  push: number;
  fetch: number;
  /** How far times scatter: sigma of a log-normal distribution. */
  scatter: number;
  /** When of its time a push or fetch reads the remote's tip, as a share; and when a push takes the ref's lock. */
  reads: number;
  locks: number;
  /** What a push keeps the ref locked for. */
  locked: number;
  /** Time of a core: for a push, for a fetch, for building, and for each message pushed. */
  cpu: { push: number; fetch: number; build: number; message: number };
}

/** The branch on the remote: the one thing that everybody contends for. */
export class Remote {
  /** How many pushes have moved the branch. */
  tip = 0;
  readonly #clock: Clock;
  readonly #limit: number | undefined;
  #accepted: number[] = [];
  #lockedUntil = 0;

  /** @param limit pushes a minute that the remote accepts for the repository; undefined for any number */
  constructor(clock: Clock, limit?: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Whether the remote turns a push away because the repository had its share. */
  get throttles(): boolean {
    if (this.#limit === undefined) return false;
    const now = this.#clock.now;
    this.#accepted = this.#accepted.filter((at) => at > now - MINUTE_MS);
    return waitFor(this.#accepted, this.#limit, MINUTE_MS, now) > 0;
  }

  /** Takes the ref's lock, one push after another; whether the branch was moved. */
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
