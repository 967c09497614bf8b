import { isQuestion, isTo } from './causality.ts';
import type { Located, Message } from './message.ts';
import type { AnswerPlan } from './reply.ts';

type Steering = Pick<
  Message,
  'from' | 'host' | 're' | 'type' | 'tier' | 'files' | 'schema' | 'options'
>;

/**
 * Returns the reason why a message is an ordinary one although it claims to steer active work; undefined if it steers
 * the work on `target`. Only the asker of a question may add to it while it is worked on, in the channel and on the
 * host where it was asked, as with `cancels`.
 *
 * @param target the message that it names in `steers`, of its own channel; undefined if there is none
 * @param actor the actor that would receive it
 */
export function whyNotSteering(
  steer: Steering,
  target: Message | undefined,
  actor: string,
): string | undefined {
  if (target === undefined) return 'it names no message of its channel';
  if (!isQuestion(target) || target.cancels !== undefined) return 'what it names is no question';
  if (steer.from !== target.from || steer.host !== target.host)
    return `${whose(target)} asked what it names, and ${whose(steer)} wrote it`;
  if (!isTo(target, actor)) return `what it names is not for ${actor}`;
  if (steer.re.length > 0) return 'it is a reply';
  if (steer.files !== undefined || steer.schema !== undefined || steer.options !== undefined)
    return 'it brings files, options or a schema, which are laid before a run';
  return undefined;
}

function whose({ from, host }: Pick<Message, 'from' | 'host'>): string {
  return host === undefined ? from : `${from}@${host}`;
}

/** Finds the messages of a channel by which the asker of a question added to it. */
export function steeringsOn(
  question: Located,
  actor: string,
  channel: readonly Located[],
): Located[] {
  return channel.filter(
    ({ message }) =>
      message.steers === question.relPath &&
      whyNotSteering(message, question.message, actor) === undefined,
  );
}

/**
 * Extends the answers of a run to the additions to their questions, if an interim message of the actor has named both:
 * a task that was delegated before leads to the question alone.
 *
 * @param plans the messages that they answer, by names in the channel
 * @param channel the messages of the thread
 * @param closed messages that need not be answered any more
 */
export function withSteerings(
  plans: readonly AnswerPlan[],
  actor: string,
  channel: readonly Located[],
  closed: ReadonlySet<string>,
): AnswerPlan[] {
  const words = channel.filter(({ message }) => message.from === actor && message.interim === true);
  if (words.length === 0) return [...plans];
  const taken = channel.filter(({ relPath, message: { steers } }) =>
    words.some(({ message: { re } }) => re.includes(relPath) && re.includes(steers ?? '')),
  );
  return plans.map((plan) => {
    const more = taken.filter(
      ({ relPath, message: { steers = '' } }) => plan.re.includes(steers) && !closed.has(relPath),
    );
    return { ...plan, re: [...new Set([...plan.re, ...more.map(({ relPath }) => relPath)])] };
  });
}
