import { reasonOf } from '../errors.ts';
import type { Transport } from '../transport/transport.ts';
import { Checkout } from '../bus/checkout.ts';
import type { Log } from '../log.ts';
import { wait } from '../wait.ts';

/**
 * Milliseconds between news and this work: whoever was just asked starts now, and may answer at once; the
 * processes that move the checkout would be in the way.
 */
const REST_MS = 200;
/** Milliseconds after which a checkout that could not follow is looked at again, although there was no news. */
const AGAIN_MS = 60_000;

/**
 * Work beside the delivery of messages, which does not need it: updating the checkout, so that
 * people and agents can read files in it, and packing loose objects before there are too many.
 */
export class Housekeeping {
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #checkout: Checkout;
  /** Paths on the bus that do not belong to a transport, and were already reported. */
  readonly #foreign = new Set<string>();
  /** The newest tip, and the one for which the work was begun the last time. */
  #wanted: string | undefined;
  #doneFor: string | undefined;
  /** When the checkout is looked at again without news, in milliseconds since 1970. */
  #again = Infinity;
  readonly #now: () => Date;
  #working: Promise<void> | undefined;
  readonly #hurry = new AbortController();
  readonly #rest: number;

  /** @param options `once`: for a dispatcher of one pass, which nobody asks more while it works */
  constructor(transport: Transport, { now, once }: { now: () => Date; once: boolean }, log: Log) {
    this.#transport = transport;
    this.#log = log;
    this.#checkout = new Checkout(transport, now);
    this.#now = now;
    this.#rest = once ? 0 : REST_MS;
  }

  /** Starts the work for a new tip, a moment later; if it is under way, once that is over. */
  follow(tip: string | undefined): void {
    this.#wanted = tip;
    const isDone = tip === this.#doneFor && this.#now().getTime() < this.#again;
    if (isDone || this.#working !== undefined) return;
    this.#working = wait(this.#rest, this.#hurry.signal)
      .then(() => {
        const isAgain = this.#wanted === this.#doneFor;
        this.#doneFor = this.#wanted;
        return isAgain ? this.#bringCheckout() : this.#work();
      })
      .finally(() => {
        this.#working = undefined;
        // What somebody works on in the checkout is looked at again at the next news.
        if (!this.#checkout.isBusy && !this.#hurry.signal.aborted) this.follow(this.#wanted);
      });
  }

  /**
   * Waits for the work under way and does it one last time, so that a stopped dispatcher leaves
   * everything in order.
   */
  async finish(): Promise<void> {
    this.#hurry.abort();
    await this.#working;
    await this.#work();
  }

  async #bringCheckout(): Promise<void> {
    const followed = await this.#checkout.follow().catch(() => undefined);
    // Whatever was in its way may go without any news.
    const isLeft = followed === undefined || followed.state === 'left';
    this.#again = isLeft ? this.#now().getTime() + AGAIN_MS : Infinity;
    if (this.#checkout.isBusy) this.#doneFor = undefined;
  }

  async #work(): Promise<void> {
    await this.#bringCheckout();
    const foreign = await this.#transport.foreignPaths().catch((error: unknown) => {
      this.#log('internal_error', { error: `foreign paths: ${reasonOf(error)}` });
      return [];
    });
    for (const path of foreign) {
      if (this.#foreign.has(path)) continue;
      this.#foreign.add(path);
      this.#log('foreign_path', {
        path,
        note: 'no checkout shows it: nothing of a transport is there',
      });
    }
    const maintained = await this.#transport.maintain().catch((error: unknown) => {
      this.#log('internal_error', { error: `git maintenance: ${reasonOf(error)}` });
    });
    if (maintained !== undefined) this.#log('maintained', { ...maintained });
  }
}
