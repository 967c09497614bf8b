import type { Address } from './address.ts';
import { chainLevels, openQuestionsOfBatch, type Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';
import { CANCELLED } from './cancel.ts';
import { askersOf, senderAddress, type AnswerPlan } from './reply.ts';
import { reasonInWords } from './text/words.ts';
import { threadRoot } from './thread.ts';

/** So many notices of a chain go to whoever asked; then only the asker of its first question is told. */
const NOTICES_TO_ASKERS = 2;
/** An actor that began a thread is told of this many failures in one chain, so that it rests. */
const MOST_NOTICES_TO_ACTORS = 6;

/**
 * Who is told that a delivery came to nothing, and which questions that concerns (talk.md, "Bad
 * news"); nobody where no question is open. It goes the way the answer would have gone. Whoever asks
 * again each time it is told would be told for ever: from the third notice in a chain of causes on
 * only a person who asks is told, or else the asker of the thread's first question.
 *
 * @param answered paths of what the actor has answered
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
 * The body of a notice: one line that says who gave no answer, why, and what makes it try again.
 *
 * @param attempts the runs that were made; 0 when nothing ran
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
 * What a notice says beyond its fields, in one line: readers say what is in these themselves, and the
 * notice would say it again. It may be from another version, and is then repeated as it is.
 */
export function saidBesides({ from, failed, body }: Message): string {
  const [line = ''] = body.trim().split('\n');
  const known = failed === undefined ? '' : whyNone({ actor: from, ...failed });
  return line.startsWith(known) ? line.slice(known.length).trim() : line;
}
