import { EVERYONE, type Address } from './address.ts';
import type { Located, Message } from './message.ts';

/** An actor that owes an answer to a message. */
export interface Debtor {
  actor: string;
  /** Absent if nobody is known to serve the name, so that any host may start to serve it. */
  host?: string;
}

/** A host, and the actors that its host file declares. */
export interface Serving {
  alias: string;
  actors: readonly string[];
}

/** Outcome of a message: an interim message and a failure are not answers (talk.md). */
export type Outcome = 'PENDING' | 'REPLIED' | 'FAILED';

/** Whether a message is an answer, rather than one that only names another message; see {@link Mark}. */
export function isAnswer(message: Pick<Message, 'interim' | 'failed' | 'cancels'>): boolean {
  return markOf(message) === null;
}

/** Kind of a message that only looks like an answer: an interim message, the notice of a failure, or a cancellation. */
export type Mark = 'interim' | 'failure' | 'cancel' | null;

/** Returns the mark of a message; null for an ordinary one. */
export function markOf({
  interim,
  failed,
  cancels,
}: Pick<Message, 'interim' | 'failed' | 'cancels'>): Mark {
  if (cancels !== undefined) return 'cancel';
  if (failed !== undefined) return 'failure';
  return interim === true ? 'interim' : null;
}

/**
 * Whether a message asks several, each of whom owes an answer of its own. A single name owes one answer, from
 * any one of the hosts that serve it.
 */
export function asksSeveral(to: readonly Pick<Address, 'name'>[]): boolean {
  return to.length > 1 || to.some(({ name }) => name === EVERYONE);
}

/** The parts of a message about another one on which the verdict on that one depends. */
export interface Reaction {
  from: string;
  host?: string | null;
  mark?: Mark;
  /** The host on which a delivery failed, for the notice of a failure. */
  failed_on?: string;
}

/** Returns a message as a reaction to another one. */
export function reactionOf<T extends Located>(one: T): T & Reaction {
  const { from, host, failed } = one.message;
  const mark = markOf(one.message);
  return { ...one, from, mark, ...(host && { host }), ...(failed && { failed_on: failed.host }) };
}

/** Debt of a debtor, and the message by which it owes nothing more. */
export interface Verdict<T> {
  outcome: Outcome;
  /** Its first answer. */
  answer: T | undefined;
  /** Its newest notice of a failure. */
  notice: T | undefined;
}

/**
 * Whether a message on the way to an answer shows all the same that its writer is done with another message, to which
 * nobody waits for an answer: it names that as its cause. A proposal does not, as it waits itself.
 *
 * @param relPath of the other message, which is not a question
 */
export function showsReading(
  { mark, proposal, re }: { mark: Mark; proposal?: boolean; re: readonly string[] },
  relPath: string,
): boolean {
  return mark === 'interim' && proposal !== true && !re.includes(relPath);
}

/**
 * Judges what a debtor owes, for everybody who asks: an answer counts from any host where nobody is known to serve the
 * name, and the notice of a failure only from the debtor itself, on the host that failed. A pure function.
 *
 * @param reactions the messages that count as reactions to the question, oldest first
 */
export function verdictOf<T extends Reaction>(
  { actor, host }: Debtor,
  reactions: readonly T[],
): Verdict<T> {
  const own = reactions.filter(
    (one) => one.from === actor && (host === undefined || (one.host ?? host) === host),
  );
  const answer = own.find(({ mark = null }) => mark === null);
  const notice = own.findLast(
    (one) => one.mark === 'failure' && one.host !== undefined && one.failed_on === one.host,
  );
  const outcome = answer !== undefined ? 'REPLIED' : notice !== undefined ? 'FAILED' : 'PENDING';
  return { outcome, answer, notice };
}

/**
 * Returns those who owe an answer to a message: each addressee on each host that serves it.
 *
 * @param served `unreadable`: host files whose actors are unknown because they cannot be read
 */
export function debtorsOf(
  { from, to }: { from: string; to: readonly Address[] },
  { serving, unreadable }: { serving: readonly Serving[]; unreadable: readonly string[] },
): Debtor[] {
  const found = new Map<string, Debtor>();
  const add = (actor: string, host?: string): void => {
    found.set(`${actor}@${host ?? ''}`, host === undefined ? { actor } : { actor, host });
  };
  for (const { name, host } of to) {
    if (host !== undefined && name !== EVERYONE) {
      add(name, host);
      continue;
    }
    const there = serving.filter(({ alias }) => host === undefined || alias === host);
    let served = false;
    for (const { alias, actors } of there)
      for (const actor of actors)
        if (name === EVERYONE ? actor !== from : actor === name) {
          add(actor, alias);
          served = true;
        }
    if (!served || (unreadable.length > 0 && host === undefined)) add(name);
  }
  return [...found.values()];
}
