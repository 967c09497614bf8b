import { messageKey } from '../../protocol/message-ref.ts';
import type { WebEvents, WebFact } from '../../api/api.ts';

/** How far a message is, by what came in since the page was opened. */
interface Known {
  /** Of the message itself. */
  self: 'queued' | 'sent';
  /** For each addressee it wakes: the latest. */
  actors: Readonly<Record<string, Pick<WebFact, 'state' | 'detail' | 'at'>>>;
}

export type KnownMessages = ReadonlyMap<string, Known>;

const NOTHING: Known = { self: 'sent', actors: {} };

/** Takes in what became known of messages; the newest of each wins, whenever it comes. */
export function withFacts(known: KnownMessages, { facts }: WebEvents['facts']): KnownMessages {
  const next = new Map(known);
  for (const fact of facts) next.set(messageKey(fact), withFact(next.get(messageKey(fact)), fact));
  return next;
}

function withFact(before: Known | undefined, fact: WebFact): Known {
  const { state, actor, detail, at } = fact;
  // Nothing is queued again once it was sent: that came out of order.
  if (state === 'queued') return before ?? { ...NOTHING, self: 'queued' };
  if (actor === null) return { ...(before ?? NOTHING), self: 'sent' };
  const { actors } = before ?? NOTHING;
  if ((actors[actor]?.at ?? '') > at) return before ?? NOTHING;
  return { self: 'sent', actors: { ...actors, [actor]: { state, detail, at } } };
}
