import type { Address } from './address.ts';
import type { Lookup } from './causality.ts';
import type { Located } from './message.ts';
import { debts, isAmong, partiesByName, type Debt, type CanAnswer } from './pending.ts';

/** Default wait of partial answers for the others, in milliseconds. */
export const JOIN_TIMEOUT = 30 * 60_000;
/**
 * Wait of an interim message when only its writer owes an answer, in milliseconds. It may be a question back,
 * whose writer waits as well; or a note, whose writer is about to answer.
 */
export const ASKED_BACK_WAIT = 60_000;

/** The barrier at which answers of peers wait (bills.md, "Waiting for all"). */
export interface Join {
  /** The peers that still owe an answer, each with the task of the actor. */
  waitsFor: { task: string; of: Address }[];
  /** Time at which they are delivered at the latest: milliseconds since the epoch. */
  until: number;
}

/** The answers of peers that could go to one run. */
export interface PartialAnswers {
  actor: string;
  /** The open questions to which they lead. */
  questions: readonly string[];
  /** The waiting answers, in commit order. */
  batch: readonly Located[];
  /** The messages of the thread; see {@link debts}. */
  channel: readonly Located[];
  lookup: Lookup;
  /** Whether anybody can give an owed answer. */
  canAnswer?: CanAnswer;
}

/**
 * Returns the barrier at which the answers of peers wait, when their actor is to be woken once for all of them;
 * undefined when they may be delivered. They wait as long as a peer that was asked for the same open questions owes an
 * answer. The notice of a failure counts as that peer's answer, an interim message does not, and nothing is owed for a
 * task that was cancelled.
 *
 * @param seenAt returns when this machine first saw one of the waiting messages, by relPath: milliseconds
 * @param timeout milliseconds after the first one arrived
 */
export function joinOf(
  { actor, questions, batch, channel, lookup, canAnswer }: PartialAnswers,
  seenAt: (relPath: string) => number,
  timeout: number,
): Join | undefined {
  const [first] = batch;
  if (first === undefined || questions.length === 0) return undefined;
  const owed = debts(actor, questions, channel, lookup, canAnswer);
  if (owed.length === 0) return undefined;
  const arrived = (one: Located): number => arrivalOf(one, actor, lookup, seenAt(one.relPath));
  const words = batch.filter(({ message }) => message.interim === true);
  const until = arrived(first) + timeout;
  const word = words.at(-1);
  const asked = word && isLeftTo(words, owed) ? arrived(word) + ASKED_BACK_WAIT : until;
  return {
    waitsFor: owed.flatMap(({ task, owing }) => owing.map((of) => ({ task, of }))),
    until: Math.min(until, asked),
  };
}

/** Whether everybody who owes an answer has written one of the waiting interim messages. */
function isLeftTo(words: readonly Located[], owed: readonly Debt[]): boolean {
  const said = partiesByName(words.map(({ message: { from, host } }) => ({ name: from, host })));
  return owed.every(({ owing }) => owing.every((address) => isAmong(said, address)));
}

/**
 * Returns the time at which an answer arrived, by the record, so that a restart does not restart the wait.
 * The clock of its writer is believed only within certain limits: the answer came after the actor wrote the
 * message that it answers, and before this machine saw it.
 */
export function arrivalOf(
  { message }: Located,
  actor: string,
  lookup: Lookup,
  seenAt: number,
): number {
  const asked = message.re.flatMap((ref) => {
    const own = lookup(ref);
    return own?.from === actor ? [Date.parse(own.timestamp)] : [];
  });
  const known = [Date.parse(message.timestamp), ...asked].filter((time) => !Number.isNaN(time));
  return Math.min(seenAt, Math.max(...known));
}
