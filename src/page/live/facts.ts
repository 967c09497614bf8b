import { messageKey } from '../../protocol/message-ref.ts';
import type { WebEvents, WebFact } from '../../api/api.ts';

/** The state of a message, from the events since the page was opened. */
interface Known {
  /** The state of the message itself. */
  self: 'queued' | 'sent';
  /** The latest state for each addressee that it wakes. */
  actors: Readonly<Record<string, Pick<WebFact, 'state' | 'detail' | 'at'>>>;
}

export type KnownMessages = ReadonlyMap<string, Known>;

const NOTHING: Known = { self: 'sent', actors: {} };

/** Adds facts about messages; the newest fact about each counts, in whatever order they arrive. */
export function withFacts(known: KnownMessages, { facts }: WebEvents['facts']): KnownMessages {
  const next = new Map(known);
  for (const fact of facts) next.set(messageKey(fact), withFact(next.get(messageKey(fact)), fact));
  return next;
}

function withFact(before: Known | undefined, fact: WebFact): Known {
  const { state, actor, detail, at } = fact;
  // A message cannot be queued after it was sent, so this event is out of order.
  if (state === 'queued') return before ?? { ...NOTHING, self: 'queued' };
  if (actor === null) return { ...(before ?? NOTHING), self: 'sent' };
  const { actors } = before ?? NOTHING;
  if ((actors[actor]?.at ?? '') > at) return before ?? NOTHING;
  return { self: 'sent', actors: { ...actors, [actor]: { state, detail, at } } };
}
