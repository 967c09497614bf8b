import { waitFor } from '../../src/state/remote-budget.ts';
import type { Clock } from './clock.ts';

/** A message on its way. Times in milliseconds. */
export interface Message {
  /** Where it stands on the bus. */
  path: string;
  sent: number;
  /** The height of the tip that brought it to the remote. */
  landed?: number;
}

/** How many pushes led to a commit: its name tells that, and a number of its own. */
export function heightOf(tip: string): number {
  return Number.parseInt(tip, 10);
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
  tip = '0-0';
  /** Tells the commits of all hosts apart. */
  serial = 1;
  /** All that were ever sent, by their paths. */
  readonly messages = new Map<string, Message>();
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
  async move(
    base: string,
    to: string,
    messages: readonly Message[],
    locked: number,
  ): Promise<boolean> {
    while (this.#clock.now < this.#lockedUntil)
      await this.#clock.wait(this.#lockedUntil - this.#clock.now);
    if (this.tip !== base) return false;
    this.tip = to;
    this.#lockedUntil = this.#clock.now + locked;
    if (this.#limit !== undefined) this.#accepted.push(this.#clock.now);
    for (const message of messages) {
      if (message.landed !== undefined) throw new Error('a message was published twice');
      message.landed = heightOf(to);
    }
    return true;
  }
}

const MINUTE_MS = 60_000;
