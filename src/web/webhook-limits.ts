import { setTimeout as sleep } from 'node:timers/promises';
import { problem, Refusal } from './answers.ts';
import { Rate } from './rate.ts';

/** Events that may be told of in a second. */
const MOST_A_SECOND = 100;
/** Bodies that are read at a time, each up to 1 MiB, of requests whose signature is not known to be good. */
const MOST_UNKNOWN = 64;

/**
 * Bounds what webhooks may cost. Who shows the token or the secret is known by the header, and who shows
 * a signature only by the body: each kind has a limit of its own, so that strangers, who can send any
 * number of wrong signatures, keep nobody out who shows the secret.
 */
export class WebhookLimits {
  readonly #known: Rate;
  readonly #unknown: Rate;
  #reading = 0;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#known = new Rate(MOST_A_SECOND, now);
    this.#unknown = new Rate(MOST_A_SECOND, now);
  }

  /** Admits a request by its header. @throws Refusal when there are too many */
  known(): void {
    if (!this.#known.take()) throw tooMany();
  }

  /**
   * Reads the body of a request that shows a signature.
   *
   * @throws Refusal when there are too many in a second, or at a time
   */
  async unknown<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= MOST_UNKNOWN)
      throw later(`more than ${String(MOST_UNKNOWN)} signed requests are being read`, 503);
    if (!this.#unknown.take()) throw tooMany();
    this.#reading++;
    try {
      return await read();
    } finally {
      this.#reading--;
    }
  }
}

/** The least time between two looks of the dispatcher that webhooks lead to, in milliseconds. */
const BETWEEN_WAKES_MS = 1000;

/** Lets webhooks wake the dispatcher once a second: those that come earlier share the next time. */
export class Wakes {
  readonly #now: () => number;
  #last = -Infinity;
  #next: Promise<number> | undefined;

  /** @param now milliseconds of any clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param wake wakes it, and says which process it is */
  once(wake: () => Promise<number>): Promise<number> {
    if (this.#next !== undefined) return this.#next;
    const wait = Math.max(0, this.#last + BETWEEN_WAKES_MS - this.#now());
    const woken = sleep(wait, undefined, { ref: false }).then(() => {
      this.#last = this.#now();
      this.#next = undefined;
      return wake();
    });
    this.#next = woken;
    return woken;
  }
}

function tooMany(): Refusal {
  return later(`more than ${String(MOST_A_SECOND)} requests a second`, 429);
}

function later(what: string, status: number): Refusal {
  const response = problem('refused', `${what}; send it again in a second`, status);
  response.headers.set('retry-after', '1');
  return new Refusal(response);
}
