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
      throw later(`more than ${String(MOST_UNKNOWN)} signed events are being read`, 503);
    if (!this.#unknown.take()) throw tooMany();
    this.#reading++;
    try {
      return await read();
    } finally {
      this.#reading--;
    }
  }
}

function tooMany(): Refusal {
  return later(`more than ${String(MOST_A_SECOND)} events a second`, 429);
}

function later(what: string, status: number): Refusal {
  const response = problem('refused', `${what}; send it again in a second`, status);
  response.headers.set('retry-after', '1');
  return new Refusal(response);
}
