import type { Address } from './address.ts';
import type { Lookup } from './causality.ts';
import type { Located } from './message.ts';
import { debts, isAmong, partiesByName, type Debt, type CanAnswer } from './pending.ts';

/** How long partial answers wait for the others unless a profile says otherwise: milliseconds. */
export const JOIN_TIMEOUT = 30 * 60_000;
/**
 * How long a word on the way waits where nobody but its writer owes an answer, in milliseconds. It may
 * be a question back, whose writer waits as well; or a note, whose writer is about to answer.
 */
export const ASKED_BACK_WAIT = 60_000;

/** What answers of peers wait for (bills.md, "Waiting for all"). */
export interface Join {
  /** Those who still owe an answer, and to which task of the actor. */
  waitsFor: { task: string; of: Address }[];
  /** When they are handed over at the latest: milliseconds since the epoch. */
  until: number;
}

/** The answers of peers that could go to one run. */
export interface PartialAnswers {
  actor: string;
  /** The open questions to which they lead. */
  questions: readonly string[];
  /** The answers that wait, in commit order. */
  batch: readonly Located[];
  /** The messages of the thread; see {@link debts}. */
  channel: readonly Located[];
  lookup: Lookup;
  /** Who can pay what is owed. */
  canAnswer?: CanAnswer;
}

/**
 * What the answers of peers wait for, when their actor is to be woken once for all of them; undefined
 * when they may be handed over. They wait as long as a peer that was asked for the same open questions
 * owes an answer. The notice of a failure counts as that peer's answer, a word on the way does not, and
 * nothing is owed to a task that was taken back.
 *
 * @param seenAt when this machine first saw one of the waiting messages, by relPath: milliseconds
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

/** Whether everybody who owes an answer has said a word that waits here. */
function isLeftTo(words: readonly Located[], owed: readonly Debt[]): boolean {
  const said = partiesByName(words.map(({ message: { from, host } }) => ({ name: from, host })));
  return owed.every(({ owing }) => owing.every((address) => isAmong(said, address)));
}

/**
 * When an answer arrived, by the record, so that a restart does not begin the wait anew. The clock of
 * its writer is believed only within what is certain: it came after the actor wrote what it answers,
 * and before this machine saw it.
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
