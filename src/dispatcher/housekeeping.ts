import { reasonOf } from '../errors.ts';
import type { Transport } from '../transport/transport.ts';
import { Checkout } from '../bus/checkout.ts';
import type { Log } from '../log.ts';

/**
 * What is done beside the hot path, because mail needs none of it: the checkout follows, so that
 * people and agents can read files in it, and loose objects are packed before they are too many.
 */
export class Housekeeping {
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #checkout: Checkout;
  /** Paths of the bus that are no transport's, and were said. */
  readonly #foreign = new Set<string>();
  #doneFor: string | undefined;
  #working: Promise<void> | undefined;

  constructor(transport: Transport, now: () => Date, log: Log) {
    this.#transport = transport;
    this.#log = log;
    this.#checkout = new Checkout(transport, now);
  }

  /** Starts it for a new tip, unless it is under way: then at a later call. */
  follow(tip: string | undefined): void {
    if (tip === this.#doneFor || this.#working !== undefined) return;
    this.#doneFor = tip;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Ends what is under way and does it a last time, so that a stopped dispatcher leaves order. */
  async finish(): Promise<void> {
    await this.#working;
    await this.#work();
  }

  async #work(): Promise<void> {
    await this.#checkout.follow().catch(() => undefined);
    if (this.#checkout.isBusy) this.#doneFor = undefined;
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
