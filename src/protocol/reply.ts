import type { Address } from './address.ts';
import {
  answeredBySend,
  isQuestion,
  isTo,
  openQuestionsOfBatch,
  stillOpen,
  type Lookup,
  type Question,
  linksBytes,
  linksIn,
  MAX_LINKS_BYTES,
  type Links,
} from './causality.ts';
import type { Located, Message } from './message.ts';
import { isForeign, placeOfRef } from './layout.ts';

/** Writer of a message, and its time, which the caller supplies. */
export interface Writer {
  actor: string;
  /** Alias of the dispatcher's host; absent for operators. */
  host?: string;
  at: Date;
}

/** A message into which stdout will be turned. */
export interface AnswerPlan {
  to: Address;
  /** Messages of one channel, by their names in the channel of the batch. */
  re: string[];
  /** False when nothing was asked and the text is only recorded. */
  answers: boolean;
  /** Whether the text is an interim message. */
  interim?: boolean;
}

/**
 * Determines the recipients of a run's stdout, and the questions that it answers (protocol.md §4).
 *
 * @param answered paths of the messages that the actor has already answered
 */
export function planAnswers(
  batch: readonly Located[],
  actor: string,
  lookup: Lookup,
  answered: ReadonlySet<string> = new Set(),
): AnswerPlan[] {
  const questions = stillOpen(openQuestionsOfBatch(batch, actor, lookup), answered);
  if (questions.length > 0) return askersOf(questions);
  return group(
    batch.map(({ message, relPath }) => {
      const own = message.re.filter((answered) => lookup(answered)?.from === actor);
      return { to: senderAddress(message), re: own.length > 0 ? own : [relPath] };
    }),
    { answers: false },
  );
}

/** Returns the answers to questions: one for each asker, and each channel in which it asked. */
export function askersOf(questions: readonly Question[]): AnswerPlan[] {
  return group(questions.map(asked), { answers: true });
}

function asked(question: Question): { to: Address; re: string[] } {
  const { asker, host } = question;
  return {
    to: host === undefined ? { name: asker } : { name: asker, host },
    re: [question.relPath],
  };
}

/** Returns the address of the writer of a message: its own twin on the host that wrote it. */
export function senderAddress(message: Message): Address {
  return message.host === undefined
    ? { name: message.from }
    : { name: message.from, host: message.host };
}

function group(
  parts: { to: Address; re: string[] }[],
  { answers }: { answers: boolean },
): AnswerPlan[] {
  const plans = new Map<string, AnswerPlan>();
  for (const { to, re } of parts) {
    const where = placeOfRef('', re[0] ?? '').channel;
    const key = `${to.name}@${to.host ?? ''} ${where}`;
    const plan = plans.get(key) ?? { to, re: [], answers };
    plan.re = union(plan.re, re);
    plans.set(key, plan);
  }
  return [...plans.values()];
}

/** A message to be written, and the id of its channel. */
export interface Placed {
  channel: string;
  message: Message;
}

/**
 * Returns the messages into which a non-empty stdout is turned: one per asker, with the body as printed, each in the
 * channel of the questions it answers (talk.md, "Across channels").
 *
 * @param channel the channel of the batch
 */
export function answerMessages(
  plans: readonly AnswerPlan[],
  batch: readonly Located[],
  body: string,
  writer: Writer,
  channel: string,
): Placed[] {
  const cause = batch.map(({ relPath }) => relPath);
  return plans.map(({ to, re, interim }) => {
    const target = placeOfRef(channel, re[0] ?? '').channel;
    const names = linksIn(target, channel, re, cause);
    const message = compose([to], names, body, writer);
    const marks = interim === true ? { interim: true as const, printed: true as const } : {};
    return { channel: target, message: { ...message, ...marks } };
  });
}

/** The request of a `send`, before it is linked. */
export interface SendRequest {
  to: Address[];
  body: string;
  tier?: string;
  /** The messages being processed; empty outside a dispatch and with `--new`. */
  triggers: Located[];
  /** The message in the causal chain to which it is a reply, if one is named. */
  named?: Located;
  /** The id of their channel. */
  home: string;
  /** The id of the channel it is for. */
  channel: string;
  /**
   * Whether an answer goes to the channel of the message it answers, instead of staying in
   * `channel`.
   */
  follows: boolean;
}

/**
 * Composes the messages of a `send`: addressees who sent something in the causal chain receive an answer to
 * it, the others a new task, so there are at most two messages in one channel (protocol.md §4). An
 * addressee's answers to others do not count: woken by a reply to one, it would answer them (docs/decisions/01-replies.md). An
 * answer goes to another channel only if its addressee wrote to the sender there.
 *
 * A message from a run to its asker is interim: a question back, or a note. The answer is the run's output
 * (talk.md, "Interim answers").
 */
export function sendMessages(request: SendRequest, writer: Writer, lookup: Lookup): Placed[] {
  const { home, triggers, channel, follows } = request;
  const cause = triggers.map(({ relPath }) => relPath);
  const start = request.named === undefined ? triggers : [request.named];
  const channelOf = (ref: string): string => placeOfRef(home, ref).channel;
  const isEligible = (ref: string): boolean => {
    if (!follows && channelOf(ref) !== channel) return false;
    const message = lookup(ref);
    if (message !== undefined && isTo(message, writer.actor)) return true;
    if (follows && isForeign(ref)) return false;
    const isGiven = start.some(({ relPath }) => relPath === ref);
    return isGiven || message === undefined || isQuestion(message);
  };
  const tasks: Address[] = [];
  const answers = new Map<string, { to: Address[]; re: string[] }>();
  for (const address of request.to) {
    const found = answeredBySend(start, address.name, lookup, isEligible);
    const target = channelOf(found[0] ?? '');
    const answered = found.filter((ref) => channelOf(ref) === target);
    if (answered.length === 0) tasks.push(address);
    else {
      const { to, re } = answers.get(target) ?? { to: [], re: [] };
      to.push(askedFrom(address, answered, lookup));
      answers.set(target, { to, re: union(re, answered) });
    }
  }
  const questions = openQuestionsOfBatch(triggers, writer.actor, lookup);
  const asked = new Set(writer.host === undefined ? [] : questions.map(({ relPath }) => relPath));
  const write = (target: string, to: Address[], re: string[]): Placed => {
    const names = linksIn(target, home, re, cause);
    const message = compose(to, names, request.body, writer, request.tier);
    const isInterim = re.some((ref) => asked.has(ref));
    return { channel: target, message: isInterim ? { ...message, interim: true } : message };
  };
  return [
    ...(tasks.length === 0 ? [] : [write(channel, tasks, [])]),
    ...[...answers].map(([target, { to, re }]) => write(target, to, re)),
  ];
}

/**
 * Completes an addressee without a host by the host from which it asked: a twin on another host would not
 * know the question.
 */
function askedFrom(address: Address, answered: readonly string[], lookup: Lookup): Address {
  if (address.host !== undefined) return address;
  const hosts = new Set(answered.map((relPath) => lookup(relPath)?.host));
  const [host] = hosts;
  return hosts.size === 1 && host !== undefined ? { ...address, host } : address;
}

function compose(
  to: Address[],
  { re, cause, origin }: Links,
  body: string,
  writer: Writer,
  tier?: string,
): Message {
  // Links that do not fit into a header are left out if the answered messages contain nearly the
  // same.
  const isLong = linksBytes(re) + linksBytes(cause) > MAX_LINKS_BYTES;
  const omitted = sameSet(cause, re) || (isLong && re.length > 0);
  return {
    from: writer.actor,
    to,
    type: 'text',
    timestamp: writer.at.toISOString(),
    re,
    cause: omitted ? [] : cause,
    ...(origin.length === 0 ? {} : { origin }),
    ...(tier === undefined ? {} : { tier }),
    ...(writer.host === undefined ? {} : { host: writer.host }),
    extra: {},
    body,
  };
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const known = new Set(b);
  return a.length === b.length && a.every((item) => known.has(item));
}
