import type { Located } from '../../protocol/message.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import { seenFrom } from '../../protocol/seen-from.ts';

/** Of what it wrote in other channels so many names of messages are known: a header names hundreds. */
const MAX_INTO = 1_000_000;

/** A message and its channel. */
type Placed = [channel: string, located: Located];

/**
 * What one actor wrote, of all channels: what settles a delivery may stand in another channel than it,
 * where a question was asked (talk.md, "Across channels").
 */
export class OwnMessages {
  readonly #in = new Map<string, Located[]>();
  /** Those of other channels that name a message of this one. */
  readonly #into = new Map<string, Placed[]>();
  #named = 0;

  /** @param located as it looks from its channel */
  add(channel: string, located: Located): void {
    append(this.#in, channel, located);
    if (located.message.origin === undefined) return;
    const named = located.message.cause.map((ref) => placeOfRef(channel, ref).channel);
    for (const other of new Set(named))
      if (other !== channel && this.#named++ < MAX_INTO)
        append(this.#into, other, [channel, located]);
  }

  /**
   * What it wrote in a channel, and of what it wrote in others what names a message of this one, as they
   * look from there.
   *
   * @param others channels of which everything counts
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
