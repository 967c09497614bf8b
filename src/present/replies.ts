import type { WebFailed } from '../api/api.ts';
import type { Address } from '../protocol/address.ts';
import { CANCELLED } from '../protocol/cancel.ts';
import type { Located, Message } from '../protocol/message.ts';
import { asksSeveral, type Debtor } from '../protocol/owed.ts';
import { reasonInWords } from '../protocol/text/words.ts';
import { failureLine } from './letters.ts';

/** A message with its answers, and how far it is. */
interface Followed {
  question: Message | undefined;
  replies: readonly Located[];
  /** Those who still owe an answer, and those who chose to say nothing. */
  owing: readonly Debtor[];
  silent: readonly Debtor[];
  failures: readonly WebFailed[];
  /** The message by which it was taken back. */
  cancelled: { message: Message; queued?: true } | undefined;
  isOver: boolean;
}

/**
 * Returns the reasons why there are no more answers to a message: a line for each of those who owed one and no longer
 * do, and one for those of several who still do.
 */
export function reasonsOf(followed: Followed): string[] {
  const { silent, isOver, replies, ...rest } = followed;
  if (!isOver) return unanswered(followed);
  return [
    ...failureLines(
      rest,
      ({ host, dead_letter: id }) => `; look at it on ${host} with: crosstalk dlq --show ${id}`,
    ),
    ...silent.map(({ actor }) => {
      const word = replies.findLast(({ message }) => message.from === actor);
      return word === undefined
        ? `${actor} has dealt with it, and had nothing to say`
        : `${actor} has said no more than ${word.relPath}; ${replyCommand(word.relPath)}`;
    }),
    ...unanswered(followed),
  ];
}

/** Words who has not answered a message that asked several. */
function unanswered({ question, owing }: Followed): string[] {
  if (!asksSeveral(question?.to ?? []) || owing.length === 0) return [];
  const names = owing.map(({ actor, host }) =>
    host === undefined ? `${actor} (no host serves it)` : `${actor}@${host}`,
  );
  return [`not answered by ${names.join(', ')}`];
}

/** Returns the command that answers a question back. */
export function replyCommand(relPath: string): string {
  return `if it asks something, answer with: crosstalk reply ${relPath} "<text>"`;
}

/** Returns the commands that decide on a proposal, and the person who runs them. */
export function decideCommands(relPath: string, to: readonly Address[]): string {
  const names = [...new Set(to.map(({ name }) => name))].join(', ');
  return `${names} decides, with: crosstalk approve ${relPath} or crosstalk deny ${relPath} "<why>"`;
}

/**
 * Returns a line for each failed delivery, and one for all cancelled ones.
 *
 * @param more what is added to a failure: a cancellation leaves nothing to do
 */
export function failureLines(
  { failures, cancelled }: Pick<Followed, 'failures' | 'cancelled'>,
  more: (failed: WebFailed) => string,
): string[] {
  const by = cancelled?.message.from;
  const told = failures.filter(({ reason }) => by === undefined || reason !== CANCELLED);
  return [
    ...(by === undefined
      ? []
      : [
          `cancelled by ${by}${cancelled?.queued === true ? ', which is not on the remote yet' : ''}`,
        ]),
    ...told.map((one) =>
      one.reason === CANCELLED
        ? `${one.actor} on ${one.host} gives no answer: ${reasonInWords(CANCELLED)}`
        : `${failureLine(one)}${more(one)}`,
    ),
  ];
}
