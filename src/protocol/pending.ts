import { EVERYONE } from './address.ts';
import { openQuestions, type Lookup } from './causality.ts';
import type { Located, Message } from './message.ts';

/**
 * Selects the waking messages of an actor that are still unanswered (protocol.md §5, first scan):
 * those that no message of the actor names in `re` or `cause`. A waking reply whose open questions
 * were all answered afterwards counts as answered too: the actor gave no answer to a part, and
 * answered once it had the rest.
 *
 * @param waking messages that wake the actor, oldest first
 * @param own every message of the actor in the channel
 * @param isLater whether one of the actor's messages came after a delivered one; file names cannot
 *   decide this, because clocks differ
 */
export function unanswered<T extends Located>(
  waking: readonly T[],
  own: readonly Located[],
  actor: string,
  lookup: Lookup,
  isLater: (answer: string, delivered: string) => boolean,
): T[] {
  const named = new Set(own.flatMap(({ message }) => [...message.re, ...message.cause]));
  const answers = new Map<string, string[]>();
  for (const { relPath, message } of own)
    for (const answered of message.re)
      answers.set(answered, [...(answers.get(answered) ?? []), relPath]);
  return waking.filter((delivered) => {
    if (named.has(delivered.relPath)) return false;
    if (delivered.message.re.length === 0) return true;
    const questions = openQuestions(delivered, actor, lookup);
    const isAnswered = (question: string): boolean =>
      answers.get(question)?.some((answer) => isLater(answer, delivered.relPath)) === true;
    return questions.length === 0 || !questions.every(({ relPath }) => isAnswered(relPath));
  });
}

/**
 * Whether an actor may give no answer (protocol.md §5): nothing was asked, several messages
 * arrived, the actor wrote during the run, a peer it asked for the same question still owes an
 * answer, or the question was answered before and this message is late.
 */
export function mayBeSilent(facts: {
  openQuestions: number;
  batchSize: number;
  sentDuringRun: number;
  awaitsPeers: boolean;
  answeredBefore: boolean;
}): boolean {
  return (
    facts.openQuestions === 0 ||
    facts.batchSize > 1 ||
    facts.sentDuringRun > 0 ||
    facts.awaitsPeers ||
    facts.answeredBefore
  );
}

/**
 * Whether an addressee of a message that `actor` wrote for one of these questions still owes an
 * answer. An answer to a peer's counter-question makes a new answer due; a message back to the
 * actor that names what it wrote, in `re` or `cause`, counts as that answer.
 *
 * @param channel messages of the channel since the oldest of the questions
 */
export function awaitsPeers(
  actor: string,
  questions: readonly string[],
  channel: readonly Located[],
  lookup: Lookup,
): boolean {
  const payers = new Map<string, Message[]>();
  for (const { message } of channel) {
    if (message.from === actor || !message.to.some(({ name }) => name === actor)) continue;
    for (const relPath of [...message.re, ...message.cause]) {
      const known = payers.get(relPath);
      if (known === undefined) payers.set(relPath, [message]);
      else known.push(message);
    }
  }
  return channel.some(({ relPath, message }) => {
    if (message.from !== actor || !owed(message, payers.get(relPath) ?? [])) return false;
    if (message.re.some((answered) => questions.includes(answered))) return false;
    const answer = { relPath: '', message: { ...message, from: '', re: [relPath] } };
    return openQuestions(answer, actor, lookup).some((open) => questions.includes(open.relPath));
  });
}

/**
 * Whether one of those a message is to has not answered it. Whoever answers without having been asked
 * may do so in the place of one who was; of a message to all nobody knows who owes an answer.
 */
function owed({ from, to }: Message, payers: readonly Message[]): boolean {
  const asked = to.filter(({ name }) => name !== from);
  if (asked.some(({ name }) => name === EVERYONE)) return payers.length === 0;
  const paid = hostsByName(payers.map((payer) => ({ name: payer.from, host: payer.host })));
  const owing = asked.filter((address) => !isAmong(paid, address));
  const wanted = hostsByName(asked);
  const others = payers.filter((payer) => !isAmong(wanted, { name: payer.from, host: payer.host }));
  return owing.length > new Set(others.map((payer) => payer.from)).size;
}

interface Party {
  name: string;
  host?: string | undefined;
}

function hostsByName(parties: readonly Party[]): Map<string, Set<string | undefined>> {
  const hosts = new Map<string, Set<string | undefined>>();
  for (const { name, host } of parties) hosts.set(name, (hosts.get(name) ?? new Set()).add(host));
  return hosts;
}

/** A host counts only where both name one. */
function isAmong(known: Map<string, Set<string | undefined>>, { name, host }: Party): boolean {
  const hosts = known.get(name);
  return hosts !== undefined && (host === undefined || hosts.has(undefined) || hosts.has(host));
}

/**
 * What an actor has answered on one of its hosts.
 *
 * @param channel messages since the oldest of the relevant questions
 */
export function answeredOn(actor: string, host: string, channel: readonly Located[]): Set<string> {
  return new Set(
    channel.flatMap(({ message }) =>
      message.from === actor && (message.host ?? host) === host ? message.re : [],
    ),
  );
}
