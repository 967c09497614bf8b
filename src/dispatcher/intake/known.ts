import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import type { DeadLetters } from '../../state/dead-letters.ts';
import { settledBy, type Outbox, type OutboxEntry } from '../../state/outbox.ts';
import type { Settled } from '../../state/settled.ts';

export interface KnownParts {
  outbox: Outbox;
  deadLetters: DeadLetters;
  settled: Settled;
  /** Receives every outbox entry that settles a delivery. */
  expect: (entry: OutboxEntry) => void;
}

/**
 * What this machine's own state knows about deliveries: they are settled, whatever became of their answers
 * on the bus; their answer is in the outbox, or they are dead letters. What the bus shows of them is
 * examined in `still-open.ts`.
 */
export class Known {
  readonly #parts: KnownParts;
  #foreseen: OutboxEntry[] = [];

  constructor(parts: KnownParts) {
    this.#parts = parts;
  }

  /**
   * Called before the first fetch, so that what another process pushes and clears away after it is
   * known too.
   */
  async foresee(): Promise<void> {
    this.#foreseen = await this.#parts.outbox.all();
  }

  /**
   * Looks at what is known before a scan, as another process may publish and clear away an answer that the
   * scan does not see.
   *
   * @returns the states of what the scan has found: settled since is settled then
   */
  async states(): Promise<StatesOf> {
    const { outbox, deadLetters, settled, expect } = this.#parts;
    const entries = await outbox.all();
    const states = new Map<string, DeliveryState>();
    // Both are decided by a person, and no CLI is run for them again.
    const aside = [...(await outbox.aside()), ...(await outbox.held())].flatMap(({ delivery }) =>
      delivery === undefined ? [] : settledBy(delivery),
    );
    for (const { actor, channel, messages } of [...aside, ...(await deadLetters.all())]) {
      for (const relPath of messages) states.set(keyOf({ actor, channel, relPath }), 'settled');
    }
    for (const entry of [...this.#foreseen.splice(0), ...entries]) {
      const { delivery } = entry;
      expect(entry);
      for (const { messages, ...of } of delivery === undefined ? [] : settledBy(delivery))
        for (const relPath of messages) states.set(keyOf({ ...of, relPath }), 'running');
    }
    return async (deliveries) => {
      for (const delivery of await settled.of('settled', deliveries))
        states.set(keyOf(delivery), 'settled');
      return (delivery) => states.get(keyOf(delivery)) ?? 'pending';
    };
  }
}

/** Gives the state of each of some deliveries, as far as it is known; otherwise `pending`. */
export type StatesOf = (
  deliveries: readonly Delivery[],
) => Promise<(delivery: Delivery) => DeliveryState>;

/** A key that identifies a delivery among all deliveries of a host. */
export function keyOf({
  actor,
  channel,
  relPath,
}: Pick<Delivery, 'actor' | 'channel' | 'relPath'>): string {
  return `${actor}/${channel}/${relPath}`;
}
