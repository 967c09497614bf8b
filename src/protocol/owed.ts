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

/** Whether a debtor has answered; one that nobody serves may answer from anywhere. */
export function hasAnswered({ actor, host }: Debtor, replies: readonly Located[]): boolean {
  return replies.some(
    ({ message }) =>
      isAnswer(message) &&
      message.from === actor &&
      (host === undefined || (message.host ?? host) === host),
  );
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

/** Finds the notice of a debtor's failure: only the debtor itself, on its own host, can report it. */
export function noticeOf(
  { actor, host }: Debtor,
  replies: readonly Located[],
): Located | undefined {
  if (host === undefined) return undefined;
  return replies.findLast(
    ({ message }) =>
      message.from === actor && message.host === host && message.failed?.host === host,
  );
}
