import type { Located } from '../../protocol/message.ts';
import { placeOfRef } from '../../protocol/layout.ts';
import { seenFrom } from '../../protocol/causality.ts';

/** Most message names that are stored from other channels; one header can name hundreds. */
const MAX_INTO = 1_000_000;

/** A message and its channel. */
type Placed = [channel: string, located: Located];

/**
 * The messages that one actor wrote, in all channels: a delivery may be settled by a message in
 * another channel, where a question was asked (talk.md, "Across channels").
 */
export class OwnMessages {
  readonly #in = new Map<string, Located[]>();
  /** Messages of other channels that name a message of this channel. */
  readonly #into = new Map<string, Placed[]>();
  #named = 0;

  /** @param located with names relative to its channel */
  add(channel: string, located: Located): void {
    append(this.#in, channel, located);
    if (located.message.origin === undefined) return;
    const named = located.message.cause.map((ref) => placeOfRef(channel, ref).channel);
    for (const other of new Set(named))
      if (other !== channel && this.#named++ < MAX_INTO)
        append(this.#into, other, [channel, located]);
  }

  /**
   * Returns the actor's messages in a channel, and those of its messages in other channels that name a message of
   * this channel, with names relative to this channel.
   *
   * @param others channels of which all messages count
   */
  seenFrom(home: string, others: ReadonlySet<string>): Located[] {
    const seen = [...(this.#in.get(home) ?? [])];
    for (const channel of others)
      for (const located of channel === home ? [] : (this.#in.get(channel) ?? []))
        seen.push(seenFrom(home, channel, located));
    for (const [channel, located] of this.#into.get(home) ?? [])
      if (!others.has(channel)) seen.push(seenFrom(home, channel, located));
    return seen;
  }
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
