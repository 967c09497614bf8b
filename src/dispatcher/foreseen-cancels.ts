import { isSystemError, reasonOf } from '../errors.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import type { Cancellations } from './cancellations.ts';
import type { DispatcherParts } from './dispatcher-parts.ts';

type Parts = Pick<DispatcherParts, 'outbox' | 'hosts' | 'deliveries' | 'log'>;

/**
 * Entries of this machine's outbox that take something back here, which is ended before they are
 * published. Where the system refuses something, as on a full disk, what runs goes on, and the entry is
 * looked at again with each tick, because the remote may be out of reach.
 */
export class ForeseenCancels {
  readonly #parts: Parts;
  readonly #cancellations: Pick<Cancellations, 'foresee'>;
  readonly #left = new Set<OutboxEntry>();

  constructor(parts: Parts, cancellations: Pick<Cancellations, 'foresee'>) {
    this.#parts = parts;
    this.#cancellations = cancellations;
    parts.outbox.events.on('seen', (entry) => {
      void this.#look(entry);
    });
  }

  /** Looks again at the entries that could not be honoured. */
  async again(): Promise<void> {
    for (const entry of this.#left) await this.#look(entry);
  }

  async #look(entry: OutboxEntry): Promise<void> {
    const { hosts, deliveries, log } = this.#parts;
    const tip = deliveries.mailboxes.scanned;
    if (hosts.active === undefined || tip === undefined) return;
    try {
      await this.#cancellations.foresee(hosts.active, tip, entry);
      this.#left.delete(entry);
    } catch (error) {
      // Anything else is left to the scan, which finds the message once it is published.
      if (isSystemError(error)) this.#left.add(entry);
      else this.#left.delete(entry);
      log('internal_error', { error: reasonOf(error) });
    }
  }
}
