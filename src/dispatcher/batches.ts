import { batchesOf, conversationOf, MAX_BATCH } from '../protocol/conversation.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import type { Archive } from './archive.ts';

/**
 * Which of the pending mail of an actor and channel goes to one run: a batch is one conversation
 * (protocol.md §5). A conversation is looked up once for each delivery, since what a message answers
 * does not change.
 */
export class Batches {
  readonly #archive: Archive;
  readonly #names = new WeakMap<Delivery, string>();

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  /**
   * @param tip the commit that the chains behind the messages are read at
   * @param messages what is pending, in commit order; at most {@link MAX_BATCH} are looked at
   */
  async of(
    tip: string,
    { actor, channel, messages }: { actor: string; channel: string; messages: Delivery[] },
  ): Promise<Delivery[][]> {
    const looked = messages.slice(0, MAX_BATCH);
    const fresh = looked.filter((delivery) => !this.#names.has(delivery));
    const linked = fresh.filter(({ message: { re, cause } }) => re.length + cause.length > 0);
    const lookup = await this.#archive.chain(tip, channel, linked);
    for (const delivery of fresh)
      this.#names.set(delivery, conversationOf(delivery, actor, lookup));
    return batchesOf(looked, (delivery) => this.#names.get(delivery) ?? delivery.relPath);
  }
}
