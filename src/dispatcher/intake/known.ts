import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import type { DeadLetters } from '../../state/dead-letters.ts';
import { settledBy, type Outbox, type OutboxEntry } from '../../state/outbox.ts';
import type { Silences } from '../../state/silences.ts';

export interface KnownParts {
  outbox: Outbox;
  deadLetters: DeadLetters;
  silences: Silences;
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
  /** Settled since the states were determined last. */
  #since = new Set<string>();
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

  /** Puts on record what is settled; see {@link Silences.settled}. */
  settle(
    actor: string,
    channel: string,
    relPaths: readonly string[],
    answered: readonly MessageRef[],
  ): Promise<void> {
    for (const relPath of relPaths) this.#since.add(keyOf({ actor, channel, relPath }));
    return this.#parts.silences.settled(actor, channel, relPaths, answered);
  }

  /** The state of each delivery, as far as it is known; otherwise `pending`. */
  async states(): Promise<(delivery: Delivery) => DeliveryState> {
    const { outbox, deadLetters, silences, expect } = this.#parts;
    const settled = (this.#since = new Set());
    const entries = await outbox.all();
    const states = new Map<string, DeliveryState>();
    await silences.each((actor, channel, relPath, how) => {
      if (how !== 'answered') settled.add(keyOf({ actor, channel, relPath }));
    });
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
    return (delivery) => {
      const key = keyOf(delivery);
      return settled.has(key) ? 'settled' : (states.get(key) ?? 'pending');
    };
  }
}

/** A key that identifies a delivery among all deliveries of a host. */
export function keyOf({
  actor,
  channel,
  relPath,
}: Pick<Delivery, 'actor' | 'channel' | 'relPath'>): string {
  return `${actor}/${channel}/${relPath}`;
}
