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
 * What this machine's own state knows about deliveries: their answer is in the outbox, they are
 * dead letters, or the actor chose silence. What the bus shows of them is examined in
 * `still-open.ts`.
 */
export class Known {
  readonly #parts: KnownParts;
  /** Settled before their mailbox existed, by a push that the first scan may be too early to see. */
  readonly #early = new Set<string>();
  /** Settled since the bus was last asked, whose answer may be older than their push. */
  readonly #late = new Set<string>();
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

  /** Called when the bus is asked: everything settled before is visible in its answer. */
  asked(): void {
    this.#late.clear();
  }

  settledLate(actor: string, channel: string, relPaths: readonly string[]): void {
    for (const relPath of relPaths) this.#late.add(keyOf({ actor, channel, relPath }));
  }

  settledEarly(actor: string, channel: string, relPaths: readonly string[]): void {
    for (const relPath of relPaths) this.#early.add(keyOf({ actor, channel, relPath }));
  }

  /**
   * Runs a look at the record, then determines the states; what is settled meanwhile counts as
   * settled.
   */
  async during<T>(
    look: () => Promise<T>,
  ): Promise<{ found: T; stateOf: (delivery: Delivery) => DeliveryState }> {
    const before = await this.states();
    const found = await look();
    const after = await this.states();
    const isOver = (one: Delivery): boolean =>
      after(one) === 'pending' && before(one) !== 'pending';
    return { found, stateOf: (one) => (isOver(one) ? 'settled' : after(one)) };
  }

  /** The state of each delivery, as far as it is known; otherwise `pending`. */
  async states(): Promise<(delivery: Delivery) => DeliveryState> {
    const { outbox, deadLetters, silences, expect } = this.#parts;
    const entries = await outbox.all();
    const states = new Map<string, DeliveryState>();
    await silences.each((actor, channel, relPath) => {
      states.set(keyOf({ actor, channel, relPath }), 'settled');
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
      const isSettled = this.#early.has(key) || this.#late.has(key);
      return isSettled ? 'settled' : (states.get(key) ?? 'pending');
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
