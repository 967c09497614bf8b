import { chainLevels, isQuestion, type Lookup } from '../protocol/causality.ts';
import { messageKey, placeOfRef } from '../protocol/layout.ts';
import { batchesOf, conversationOf, MAX_BATCH } from '../protocol/thread.ts';
import { whyNotSteering } from '../protocol/steer.ts';
import { chooseTier, type Tier } from '../protocol/files/host-file.ts';
import type { Delivery } from '../protocol/mailbox.ts';
import type { DeadLetter } from '../state/dead-letters.ts';
import type { MessageReader } from '../bus/message-reader.ts';
import type { QuestionSet } from './question-locks.ts';

/**
 * Decides which pending messages of an actor and channel go into one run: a batch is one conversation (protocol.md
 * §5). The conversation of a delivery is looked up only once, since the messages that a message answers do not
 * change; if one of them is not on the bus, once for each commit.
 */
export class Batches {
  readonly #reader: MessageReader;
  readonly #names = new WeakMap<Delivery, string>();
  /** The commits at which something behind a delivery was missing. */
  readonly #lacking = new WeakMap<Delivery, string>();

  constructor(reader: MessageReader) {
    this.#reader = reader;
  }

  /** Returns the questions that a batch of peers' answers belongs to; undefined for any other batch. */
  fanInOf([first]: readonly Delivery[]): QuestionSet | undefined {
    return first && fanInNamed(this.#names.get(first) ?? '', first);
  }

  /** Does the same as {@link fanInOf} for the messages of a dead letter, at the commit at which they would be read. */
  async fanInOfLetter(tip: string, letter: DeadLetter): Promise<QuestionSet | undefined> {
    const { actor, channel, messages } = letter;
    const [first] = await this.#reader.messages(tip, channel, messages.slice(0, 1));
    if (first === undefined || isQuestion(first.message)) return undefined;
    const lookup = await this.#reader.chain(tip, channel, [first]);
    return fanInNamed(conversationOf(first, actor, lookup), letter);
  }

  /**
   * @param tip the commit at which the chains behind the messages are read
   * @param messages the pending messages, in commit order; at most {@link MAX_BATCH} are examined
   */
  async of(
    tip: string,
    { actor, channel, messages }: { actor: string; channel: string; messages: Delivery[] },
  ): Promise<Delivery[][]> {
    const looked = messages.slice(0, MAX_BATCH);
    const fresh = looked.filter(
      (one) => !this.#names.has(one) || (this.#lacking.get(one) ?? tip) !== tip,
    );
    const linked = fresh.filter(({ message: { re, cause } }) => re.length + cause.length > 0);
    const lookup = await this.#reader.chain(tip, channel, linked);
    for (const delivery of fresh) {
      this.#names.set(delivery, conversationOf(delivery, actor, lookup));
      if (isWhole(delivery, lookup)) this.#lacking.delete(delivery);
      else this.#lacking.set(delivery, tip);
    }
    const byPath = new Map(looked.map((delivery) => [delivery.relPath, delivery]));
    const named = (delivery: Delivery): string => this.#names.get(delivery) ?? delivery.relPath;
    return batchesOf(looked, (delivery) => named(steeredBy(delivery, byPath)));
  }
}

/** Whether all is there that a message answers or was caused by. */
function isWhole(delivery: Delivery, lookup: Lookup): boolean {
  const named = chainLevels([delivery], lookup).flat();
  return named.every(({ message: { re, cause } }) =>
    [...re, ...cause].every((ref) => lookup(ref) !== undefined),
  );
}

/** Most links that are followed: somebody who pushes messages that name each other in a circle gets a run for each. */
const MAX_STEPS = 64;

/**
 * Returns the waiting question about which a message says more (warm.md, "Steering"), as one run handles both; the
 * message itself for any other.
 */
export function steeredBy(delivery: Delivery, byPath: ReadonlyMap<string, Delivery>): Delivery {
  let first = delivery;
  for (let step = 0; step < MAX_STEPS; step++) {
    const { steers } = first.message;
    const target = steers === undefined ? undefined : byPath.get(steers);
    if (target === undefined) return first;
    if (whyNotSteering(first.message, target.message, delivery.actor) !== undefined) return first;
    first = target;
  }
  return delivery;
}

/** @param conversation as `conversationOf` names it, of messages to this actor in this channel */
function fanInNamed(
  conversation: string,
  { actor, channel }: { actor: string; channel: string },
): QuestionSet | undefined {
  const names = /^for (.+)$/.exec(conversation)?.[1]?.split(',');
  const questions = names?.map((name) => {
    const place = placeOfRef(channel, name);
    return messageKey(place);
  });
  return questions && { actor, questions };
}

/**
 * Selects the messages to examine when there are too many: those for a tier that can start a run
 * now, so that no tier waits behind a thousand messages for another.
 */
export async function lookedAt(
  messages: Delivery[],
  tiers: readonly Tier[],
  mayStart: (tier: Tier) => Promise<boolean>,
): Promise<Delivery[]> {
  if (messages.length <= MAX_BATCH) return messages;
  const tierOf = ({ message }: Delivery): Tier | undefined => chooseTier(tiers, [message.tier]);
  const able = new Set<Tier | undefined>();
  for (const tier of new Set(messages.map(tierOf)))
    if (tier !== undefined && (await mayStart(tier))) able.add(tier);
  return messages.filter((delivery) => able.has(tierOf(delivery)));
}
