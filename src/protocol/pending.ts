import { EVERYONE, type Address } from './address.ts';
import { isQuestion, MAX_STEPS, openQuestions, type Lookup } from './causality.ts';
import { isAnswer } from './owed.ts';
import type { Located, Message } from './message.ts';

/**
 * Selects the waking messages of an actor that are still unanswered (protocol.md §5, first scan): those that no message
 * of the actor names in `re` or `cause`. A waking reply whose open questions were all answered afterwards counts as
 * answered too: the actor gave no answer to a part, and answered once it had the rest. Interim messages settle nothing
 * (talk.md), except that a run which printed one has ended: its batch is not delivered, and paid for, again.
 *
 * @param waking messages that wake the actor, oldest first
 * @param own every message of the actor in the channel
 * @param isLater whether one of the actor's messages came after a delivered one; file names cannot decide this, because
 *   clocks differ
 */
export function unanswered<T extends Located>(
  waking: readonly T[],
  own: readonly Located[],
  actor: string,
  lookup: Lookup,
  isLater: (answer: string, delivered: string) => boolean,
): T[] {
  const final = own.filter(({ message }) => message.interim !== true);
  const named = new Set(final.flatMap(({ message }) => [...message.re, ...message.cause]));
  for (const { message } of own) for (const handed of handedTo(message)) named.add(handed);
  const answers = new Map<string, string[]>();
  for (const { relPath, message } of final)
    for (const answered of message.re)
      answers.set(answered, [...(answers.get(answered) ?? []), relPath]);
  return waking.filter((delivered) => {
    if (named.has(delivered.relPath)) return false;
    if (isQuestion(delivered.message)) return true;
    const questions = openQuestions(delivered, actor, lookup);
    const isAnswered = (question: string): boolean =>
      answers.get(question)?.some((answer) => isLater(answer, delivered.relPath)) === true;
    return questions.length === 0 || !questions.every(({ relPath }) => isAnswered(relPath));
  });
}

/** Returns the batch of the run that printed this interim message; a cause is left out if `re` is the same. */
function handedTo({ interim, printed, re, cause }: Message): readonly string[] {
  if (interim !== true || printed !== true) return [];
  return cause.length > 0 ? cause : re;
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

/** Whether anybody can answer a message to an address. */
export type CanAnswer = (address: Address) => boolean;

const anybody: CanAnswer = () => true;

/**
 * Whether an addressee of a message that `actor` wrote for one of these questions still owes an answer. An answer to a
 * peer's counter-question makes a new answer due; a message back to the actor that names the actor's message, in `re`
 * or `cause`, counts as that answer, and so does the notice that there will be none, whoever receives it. Interim
 * messages pay nothing. The final answer to a task pays for the replies to questions about it, too: whatever detour it
 * took, it need not name them.
 *
 * @param channel messages of the channel since the oldest of the questions
 */
export function awaitsPeers(
  actor: string,
  questions: readonly string[],
  channel: readonly Located[],
  lookup: Lookup,
  canAnswer?: CanAnswer,
): boolean {
  return owedTasks(actor, questions, channel, lookup, canAnswer).length > 0;
}

/**
 * Returns the messages that `actor` wrote for one of these questions and that an addressee still owes an
 * answer to; see {@link debts}.
 */
export function owedTasks(
  actor: string,
  questions: readonly string[],
  channel: readonly Located[],
  lookup: Lookup,
  canAnswer?: CanAnswer,
): string[] {
  return debts(actor, questions, channel, lookup, canAnswer).map(({ task }) => task);
}

/** A message to which an answer is owed. */
export interface Debt {
  task: string;
  /** The addressees that have not answered it. */
  owing: Address[];
}

/**
 * Returns the answers that addressees owe for one of these questions; see {@link awaitsPeers}. Nothing is
 * owed for a message that the actor cancelled, nor by an addressee that nobody can reach: a debt that nobody
 * can pay does not count.
 */
export function debts(
  actor: string,
  questions: readonly string[],
  channel: readonly Located[],
  lookup: Lookup,
  canAnswer = anybody,
): Debt[] {
  const payers = new Map<string, Message[]>();
  const takenBack = new Set<string>();
  for (const { message } of channel) {
    if (message.from === actor && message.cancels !== undefined) takenBack.add(message.cancels);
    if (message.from === actor || message.interim === true) continue;
    const isToActor = message.to.some(({ name }) => name === actor);
    if (!isToActor && message.failed === undefined) continue;
    for (const relPath of [...message.re, ...message.cause]) {
      const known = payers.get(relPath);
      if (known === undefined) payers.set(relPath, [message]);
      else known.push(message);
    }
  }
  return channel.flatMap(({ relPath, message }) => {
    if (message.from !== actor || message.interim === true) return [];
    if (message.cancels !== undefined || takenBack.has(relPath)) return [];
    const isTo = ({ from }: Message): boolean => message.to.some(({ name }) => name === from);
    const behind = tasksBehind(message, actor, lookup).flatMap((ref) => payers.get(ref) ?? []);
    const paid = [...(payers.get(relPath) ?? []), ...behind.filter(isTo)];
    const owing = owingOf(message, paid).filter(canAnswer);
    if (owing.length === 0) return [];
    if (message.re.some((answered) => questions.includes(answered))) return [];
    const served = questionsBehind({ relPath, message }, actor, lookup);
    return served.some((open) => questions.includes(open)) ? [{ task: relPath, owing }] : [];
  });
}

/** Returns the open questions for which an actor wrote something. */
export function questionsBehind(
  { relPath, message }: Located,
  actor: string,
  lookup: Lookup,
): string[] {
  const answer = { relPath: '', message: { ...message, from: '', re: [relPath] } };
  delete answer.message.asks;
  return openQuestions(answer, actor, lookup).map((open) => open.relPath);
}

/**
 * Returns the tasks of an actor about which peers asked the questions that the actor's message answers. A
 * reply to the final answer of a task is a new demand.
 */
function tasksBehind(reply: Message, actor: string, lookup: Lookup): string[] {
  const isTask = (ref: string): boolean => {
    const message = lookup(ref);
    return message?.from === actor && isQuestion(message);
  };
  const tasks = new Set<string>();
  const seen = new Set(reply.re);
  for (const ref of seen) {
    if (seen.size > MAX_STEPS) break;
    const back = lookup(ref);
    if (back === undefined) continue;
    if (back.from === actor) back.re.forEach((answered) => seen.add(answered));
    else if (back.interim === true || !back.re.some(isTask))
      for (const answered of back.re)
        if (isTask(answered)) tasks.add(answered);
        else if (lookup(answered)?.from === actor) seen.add(answered);
  }
  return [...tasks];
}

/**
 * Returns the addressees of a message that have not answered it. A name that answers without having been
 * asked may do so in the place of one that was; of a message to all nobody knows who owes an answer.
 */
function owingOf({ from, to }: Message, payers: readonly Message[]): Address[] {
  const asked = to.filter(({ name }) => name !== from);
  const everyone = asked.find(({ name }) => name === EVERYONE);
  if (everyone !== undefined) return payers.length === 0 ? [everyone] : [];
  const paid = partiesByName(payers.map((payer) => ({ name: payer.from, host: payer.host })));
  const owing = asked.filter((address) => !isAmong(paid, address));
  const wanted = partiesByName(asked);
  const others = payers.filter((payer) => !isAmong(wanted, { name: payer.from, host: payer.host }));
  return owing.length > new Set(others.map((payer) => payer.from)).size ? owing : [];
}

interface Party {
  name: string;
  host?: string | undefined;
}

/** Groups the hosts of some parties by name; undefined for one that names none. */
export function partiesByName(parties: readonly Party[]): Map<string, Set<string | undefined>> {
  const hosts = new Map<string, Set<string | undefined>>();
  for (const { name, host } of parties) hosts.set(name, (hosts.get(name) ?? new Set()).add(host));
  return hosts;
}

/** Whether a party is among others, by {@link partiesByName}. A host counts only if both name one. */
export function isAmong(
  known: Map<string, Set<string | undefined>>,
  { name, host }: Party,
): boolean {
  const hosts = known.get(name);
  return hosts !== undefined && (host === undefined || hosts.has(undefined) || hosts.has(host));
}

/**
 * Returns the messages that an actor has answered on one of its hosts; an interim message and the notice of a failure
 * are not answers.
 *
 * @param channel messages since the oldest of the relevant questions
 */
export function answeredOn(actor: string, host: string, channel: readonly Located[]): Set<string> {
  return new Set(
    channel.flatMap(({ message }) =>
      isAnswer(message) && message.from === actor && (message.host ?? host) === host
        ? message.re
        : [],
    ),
  );
}
