import type { Address } from './address.ts';
import { chainLevels, openQuestionsOfBatch, type Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';
import { CANCELLED } from './cancel.ts';
import { askersOf, senderAddress, type AnswerPlan } from './reply.ts';
import { reasonInWords } from './text/words.ts';
import { threadRoot } from './thread.ts';

/** Most notices of a chain that go to every asker; after them only the asker of its first question receives one. */
const NOTICES_TO_ASKERS = 2;
/** Most notices in one chain for an actor that started the thread, so that it rests. */
const MOST_NOTICES_TO_ACTORS = 6;

/**
 * Determines who receives the notice that a delivery failed, and for which questions (talk.md, "Bad news"); nobody if
 * no question is open. The notice goes to the receivers of the answer. An asker that asks again after each notice would
 * receive them for ever: from the third notice in a chain of causes on, the only receiver is a person who asks, or else
 * the asker of the thread's first question.
 *
 * @param answered paths of the messages that the actor has answered
 */
export function planNotice(
  batch: readonly Located[],
  actor: string,
  lookup: Lookup,
  answered: ReadonlySet<string>,
): AnswerPlan[] {
  const questions = openQuestionsOfBatch(batch, actor, lookup);
  const open = questions.filter(({ relPath }) => !answered.has(relPath));
  if (open.length === 0) return [];
  const chain = chainLevels(batch, lookup).flat();
  const notices = chain.filter(({ message }) => message.failed !== undefined).length;
  if (notices < NOTICES_TO_ASKERS) return askersOf(open);
  const people = open.filter(({ host }) => host === undefined);
  if (people.length > 0) return askersOf(people);
  const root = threadRoot(batch, lookup);
  const first = chain.find(({ relPath }) => relPath === root)?.message;
  if (first === undefined || first.from === actor) return [];
  if (first.host !== undefined && notices >= MOST_NOTICES_TO_ACTORS) return [];
  const to: Address = senderAddress(first);
  return [{ to, re: [root], answers: true }];
}

/**
 * Composes the body of a notice: one line that says who gave no answer, why, and what makes it try again.
 *
 * @param attempts number of runs; 0 when nothing ran
 */
export function noticeText(facts: NoticeFacts & { letter: string }): string {
  const { host, reason, letter } = facts;
  if (reason === CANCELLED) return `${whyNone(facts)}\n`;
  return `${whyNone(facts)} It is tried again only when somebody on ${host} calls: crosstalk dlq --retry ${letter}\n`;
}

interface NoticeFacts {
  actor: string;
  host: string;
  reason: string;
  attempts: number;
}

function whyNone({ actor, host, reason, attempts }: NoticeFacts): string {
  const tries = attempts === 1 ? ' (1 attempt)' : ` (${String(attempts)} attempts)`;
  const isTold = attempts > 0 && reason !== CANCELLED;
  return `${actor} on ${host} gives no answer: ${reasonInWords(reason)}${isTold ? tries : ''}.`;
}

/**
 * Returns the text of a notice beyond its fields, in one line: readers show the fields themselves, and would
 * show them twice. A notice may be from another version, and is then returned unchanged.
 */
export function saidBesides({ from, failed, body }: Message): string {
  const [line = ''] = body.trim().split('\n');
  const known = failed === undefined ? '' : whyNone({ actor: from, ...failed });
  return line.startsWith(known) ? line.slice(known.length).trim() : line;
}
