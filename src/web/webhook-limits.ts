import { setTimeout as sleep } from 'node:timers/promises';
import { problem, Refusal } from './answers.ts';
import { Rate } from './rate.ts';

/** Events that may be told of in a second. */
const MOST_A_SECOND = 100;
/** Bodies that are read at a time, each up to 1 MiB, of requests whose signature is not known to be good. */
const MOST_UNKNOWN = 64;
/** Milliseconds in which such a body has to be there as a whole. */
const LONGEST_READ_MS = 10_000;

/**
 * Bounds what webhooks may cost. Who shows the token or the secret is known by the header, and who shows
 * a signature only by the body: each kind has a limit of its own, so that strangers, who can send any
 * number of wrong signatures, keep nobody out who shows the secret.
 */
export class WebhookLimits {
  readonly #known: Rate;
  readonly #unknown: Rate;
  readonly #longest: number;
  #reading = 0;

  /**
   * @param now milliseconds of any clock
   * @param longest milliseconds that the body of a stranger may take
   */
  constructor(now: () => number, longest = LONGEST_READ_MS) {
    this.#longest = longest;
    this.#known = new Rate(MOST_A_SECOND, now);
    this.#unknown = new Rate(MOST_A_SECOND, now);
  }

  /** Admits a request by its header. @throws Refusal when there are too many */
  known(): void {
    if (!this.#known.take()) throw tooMany();
  }

  /**
   * Reads the body of a request that shows a signature. One that takes too long gives its place back: else a
   * few slow connections, which cost a stranger nothing, would keep every place for minutes.
   *
   * @throws Refusal when there are too many in a second, or at a time, and when the body takes too long
   */
  async unknown<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= MOST_UNKNOWN)
      throw later(`more than ${String(MOST_UNKNOWN)} signed requests are being read`, 503);
    if (!this.#unknown.take()) throw tooMany();
    this.#reading++;
    const { promise: late, end } = this.#limit();
    try {
      // What is read too late fails when the connection is closed, and is of no interest then.
      return await Promise.race([read(), late]);
    } finally {
      end();
      this.#reading--;
    }
  }

  /** A promise that fails after the time that a body may take, unless it is ended before. */
  #limit(): { promise: Promise<never>; end: () => void } {
    const ended = new AbortController();
    const { signal } = ended;
    const promise = sleep(this.#longest, undefined, { ref: false, signal }).then(() => {
      throw tooSlow(this.#longest);
    });
    const end = (): void => {
      ended.abort();
    };
    return { promise, end };
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

/** @param longest milliseconds */
function tooSlow(longest: number): Refusal {
  const response = problem(
    'refused',
    `the body was not there within ${String(longest / 1000)} seconds; send it again over a faster connection`,
    408,
  );
  response.headers.set('connection', 'close');
  return new Refusal(response);
}

function later(what: string, status: number): Refusal {
  const response = problem('refused', `${what}; send it again in a second`, status);
  response.headers.set('retry-after', '1');
  return new Refusal(response);
}
