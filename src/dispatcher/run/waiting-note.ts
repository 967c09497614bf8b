import { openQuestionsOfBatch, stillOpen } from '../../protocol/causality.ts';
import { askersOf, senderAddress, type AnswerPlan, type Placed } from '../../protocol/reply.ts';
import { threadRoot } from '../../protocol/thread.ts';
import type { Briefing } from './briefing.ts';

/**
 * The people who are told that an answer waits for somebody. An actor that asked is not: to wake it would
 * cost. The person who began the thread is told instead.
 */
export function peopleWhoWait(
  actor: string,
  { batch, lookup, answered, cancelled }: Briefing,
): AnswerPlan[] {
  const closed = new Set([...answered, ...cancelled]);
  const open = stillOpen(openQuestionsOfBatch(batch, actor, lookup), closed);
  if (open.length === 0) return [];
  const people = open.filter(({ host }) => host === undefined);
  if (people.length > 0) return askersOf(people);
  const root = threadRoot(batch, lookup);
  const first = lookup(root) ?? batch.find(({ relPath }) => relPath === root)?.message;
  if (first === undefined || first.host !== undefined || first.from === actor) return [];
  return [{ to: senderAddress(first), re: [root], answers: true }];
}

/** A note says nothing of the question, so it is neither a word of the actor nor a question back. */
export function whileHeld(
  { channel, message }: Placed,
  held: 'budget' | 'secret' | 'gate',
): Placed {
  return { channel, message: { ...message, interim: true, extra: { ...message.extra, held } } };
}
