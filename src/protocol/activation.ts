import { reach } from './address.ts';
import { isDecision } from './text/words.ts';
import type { Message } from './message.ts';

/** Returns the sender of the message at a relPath of the same channel; undefined when there is no message. */
export type SenderOf = (relPath: string) => string | undefined;

/** The clause of protocol.md §3 (with §2 and §7) that was decisive. */
export type Clause =
  | 'not_text'
  | 'decision'
  | 'proposal'
  | 'own_message'
  | 'not_addressed'
  | 'other_host'
  | 'new_task'
  | 'answers_addressee'
  | 'answers_others';

export interface Activation {
  wakes: boolean;
  clause: Clause;
  /** For `answers_addressee`: the entries of `re` that name messages which the addressee sent. */
  answered: string[];
}

/**
 * Applies the rule of activation (protocol.md §3): a message wakes its addressee if it has no `re:`, or if any `re:`
 * names a message the addressee sent. `@host` limits who is addressed and is ignored when senders are compared. A reply
 * that decides on a proposal is for the dispatcher, and a proposal is for a person (work.md).
 */
export function activation(
  message: Pick<Message, 'from' | 'to' | 'type' | 're' | 'decision' | 'proposal'>,
  actor: string,
  host: string,
  senderOf: SenderOf,
): Activation {
  const asleep = (clause: Clause): Activation => ({ wakes: false, clause, answered: [] });
  if (message.type !== 'text') return asleep('not_text');
  if (message.from === actor) return asleep('own_message');
  if (isDecision(message)) return asleep('decision');
  if (message.proposal === true && message.re.length > 0) return asleep('proposal');
  const reached = reach(message.to, message.from, actor, host);
  if (reached === 'not_addressed') return asleep('not_addressed');
  const answered = message.re.filter((relPath) => senderOf(relPath) === actor);
  const clause: Clause =
    message.re.length === 0
      ? 'new_task'
      : answered.length > 0
        ? 'answers_addressee'
        : 'answers_others';
  if (clause === 'answers_others') return asleep(clause);
  return reached === 'other_host' ? asleep('other_host') : { wakes: true, clause, answered };
}

/** Returns a sentence that explains a clause, for `crosstalk explain`. */
export function explainClause(clause: Clause, actor: string): string {
  switch (clause) {
    case 'not_text':
      return 'its type is not "text": it is kept and shown, and wakes nobody';
    case 'decision':
      return 'it decides on a proposal, which is for the dispatcher that asked and for no actor';
    case 'proposal':
      return 'it asks a person to decide, which no actor can';
    case 'own_message':
      return `${actor} sent it, and a message never wakes its own sender`;
    case 'not_addressed':
      return `its to: does not name ${actor}`;
    case 'other_host':
      return `its to: narrows ${actor} to another host`;
    case 'new_task':
      return 'it has no re:, so it is a new task for its addressee';
    case 'answers_addressee':
      return `its re: names a message that ${actor} sent`;
    case 'answers_others':
      return `it has re:, and no entry names a message that ${actor} sent`;
  }
}
