import type { DispatcherApp } from '../../bus/app.ts';
import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import { settledBy, type OutboxEntry } from '../../state/outbox.ts';

/**
 * Knowledge of this machine's own state about deliveries: they are settled, whether or not their answers are on the
 * bus; their answer is in the outbox, or they are dead letters. The record of the bus is examined in `still-open.ts`.
 */
export class Known {
  readonly #app: Pick<DispatcherApp, 'outbox' | 'deadLetters' | 'settled'>;
  readonly #expect: (entry: OutboxEntry) => void;

  /** @param expect receives every outbox entry that settles a delivery */
  constructor(
    app: Pick<DispatcherApp, 'outbox' | 'deadLetters' | 'settled'>,
    expect: (entry: OutboxEntry) => void,
  ) {
    this.#app = app;
    this.#expect = expect;
  }

  /**
   * Reads the waiting entries before a scan, as another process may publish an answer that the scan does not see:
   * deliveries whose answers left the outbox by then are settled.
   *
   * @returns the states of the deliveries that the scan has found: those settled since are settled then
   */
  async states(): Promise<StatesOf> {
    const { outbox, deadLetters, settled } = this.#app;
    const running = new Set<string>();
    for (const entry of await outbox.all()) {
      this.#expect(entry);
      for (const { messages, ...of } of entry.delivery === undefined
        ? []
        : settledBy(entry.delivery))
        for (const relPath of messages) running.add(keyOf({ ...of, relPath }));
    }
    return async (deliveries) => {
      if (deliveries.length === 0) return () => 'pending';
      // Last, as the results of a run are there before its messages leave the mailbox. A person decides on mail that
      // is aside or held, and no CLI is run for it again.
      const found = [outbox.aside(), outbox.held(), deadLetters.all()] as const;
      const [[aside, held, letters], done] = await Promise.all([
        Promise.all(found),
        settled.of('settled', deliveries),
      ]);
      const answers = [...aside, ...held].flatMap(({ delivery }) =>
        delivery === undefined ? [] : settledBy(delivery),
      );
      const failed = [...letters, ...answers].flatMap(({ actor, channel, messages }) =>
        messages.map((relPath) => keyOf({ actor, channel, relPath })),
      );
      const over = new Set([...done].map(keyOf));
      const left = new Set(failed);
      return (delivery) => {
        const key = keyOf(delivery);
        const isRunning = running.has(key) && !over.has(key);
        return isRunning ? 'running' : over.has(key) || left.has(key) ? 'settled' : 'pending';
      };
    };
  }
}

/** Gives the state of each of some deliveries, as far as it is known; otherwise `pending`. */
export type StatesOf = (
  deliveries: readonly Delivery[],
) => Promise<(delivery: Delivery) => DeliveryState>;

/** Returns a key that identifies a delivery among all deliveries of a host. */
export function keyOf({
  actor,
  channel,
  relPath,
}: Pick<Delivery, 'actor' | 'channel' | 'relPath'>): string {
  return `${actor}/${channel}/${relPath}`;
}
