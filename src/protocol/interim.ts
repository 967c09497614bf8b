import { openQuestions, type Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';
import { owedTasks, type CanAnswer } from './pending.ts';
import { byTime, placeOfRef } from './layout.ts';
import type { AnswerPlan } from './reply.ts';

/**
 * Marks a run's output as an interim message if a peer that was asked for the same question still owes its part
 * (talk.md, "Interim answers"). A person receives it; for an asker that is an actor the text names the actor's own
 * task, so that it wakes, and costs, nobody.
 *
 * @param plans the messages that the text answers
 * @param answered paths of the messages that the actor has answered: an addition to an answer is not an interim message
 * @param channel the messages of the thread, including those the run itself has sent
 * @param canAnswer whether anybody can give an owed answer
 */
export function withInterim(
  plans: readonly AnswerPlan[],
  actor: string,
  answered: ReadonlySet<string>,
  channel: readonly Located[],
  lookup: Lookup,
  canAnswer?: CanAnswer,
): AnswerPlan[] {
  return plans.map((plan) => {
    if (!plan.answers || plan.re.every((question) => answered.has(question))) return plan;
    const owed = owedTasks(actor, plan.re, channel, lookup, canAnswer);
    if (owed.length === 0) return plan;
    const home = placeOfRef('', plan.re[0] ?? '').channel;
    const near = owed.filter((task) => placeOfRef('', task).channel === home);
    const task = (near.length > 0 ? near : owed).at(-1) ?? '';
    return { ...plan, re: plan.to.host === undefined ? plan.re : [task], interim: true };
  });
}

/**
 * Whether the asker of a question owes an answer itself: a run sent it something for the question, and it has
 * not replied to that.
 */
export function awaitsAsker(
  actor: string,
  questions: readonly string[],
  channel: readonly Located[],
): boolean {
  const replied = new Set(
    channel.flatMap(({ message }) => (message.from === actor ? [] : message.re)),
  );
  return channel.some(
    ({ relPath, message }) =>
      message.from === actor &&
      isSentInterim(message) &&
      message.re.some((ref) => questions.includes(ref)) &&
      !replied.has(relPath),
  );
}

/**
 * Returns the last text that was printed as an interim message, if there will be no other: nobody owes the actor
 * anything any more.
 *
 * @param plan the questions of one asker that are still open
 */
export function lastWord(
  plan: AnswerPlan,
  actor: string,
  channel: readonly Located[],
  lookup: Lookup,
  canAnswer?: CanAnswer,
): string | undefined {
  if (owedTasks(actor, plan.re, channel, lookup, canAnswer).length > 0) return undefined;
  if (awaitsAsker(actor, plan.re, channel)) return undefined;
  const leadsHere = (ref: string): boolean => {
    const message = lookup(ref);
    const found =
      message === undefined ? [] : openQuestions({ relPath: ref, message }, actor, lookup);
    return found.some(({ relPath }) => plan.re.includes(relPath));
  };
  const words = channel.filter(
    ({ message }) =>
      message.from === actor &&
      message.interim === true &&
      message.printed === true &&
      message.proposal !== true &&
      message.to.some(({ name }) => name === plan.to.name) &&
      (message.re.some((ref) => plan.re.includes(ref)) || message.cause.some(leadsHere)),
  );
  return words
    .map(({ relPath }) => relPath)
    .sort(byTime)
    .at(-1);
}

/**
 * Whether a message is an interim message that its writer has sent, so that it may ask something. The
 * dispatcher's note that mail is held (`held` in its header) is not the actor's message, and a proposal asks
 * for a decision and not for a reply.
 */
export function isSentInterim({
  interim,
  printed,
  proposal,
  extra,
}: Pick<Message, 'interim' | 'printed' | 'proposal' | 'extra'>): boolean {
  const isOwnWord = printed !== true && proposal !== true;
  return interim === true && isOwnWord && extra['held'] === undefined;
}
