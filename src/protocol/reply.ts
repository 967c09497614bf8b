import { parseAddress, type Address } from './address.ts';
import {
  answeredBySend,
  openQuestionsOfBatch,
  stillOpen,
  type Lookup,
  type Question,
} from './causality.ts';
import { linksBytes, MAX_LINKS_BYTES } from './mailbox.ts';
import type { Located, Message } from './message.ts';

/** Who writes, and when; the clock is the caller's. */
export interface Writer {
  actor: string;
  /** Alias of the dispatcher's host; absent for operators. */
  host?: string;
  at: Date;
}

/** One message that stdout will become. */
export interface AnswerPlan {
  to: Address;
  re: string[];
  /** False when nothing was asked and the text is only put on record. */
  answers: boolean;
}

/**
 * Who gets the stdout of a run, and what that answers (protocol.md §4).
 *
 * @param answered paths of what the actor has answered already
 */
export function planAnswers(
  batch: readonly Located[],
  actor: string,
  lookup: Lookup,
  answered: ReadonlySet<string> = new Set(),
): AnswerPlan[] {
  const questions = stillOpen(openQuestionsOfBatch(batch, actor, lookup), answered);
  if (questions.length > 0) return group(questions.map(asked), true);
  return group(
    batch.map(({ message, relPath }) => {
      const own = message.re.filter((answered) => lookup(answered)?.from === actor);
      return { to: senderAddress(message), re: own.length > 0 ? own : [relPath] };
    }),
    false,
  );
}

function asked(question: Question): { to: Address; re: string[] } {
  const { asker, host } = question;
  return {
    to: host === undefined ? { name: asker } : { name: asker, host },
    re: [question.relPath],
  };
}

function senderAddress(message: Message): Address {
  return message.host === undefined
    ? { name: message.from }
    : { name: message.from, host: message.host };
}

function group(parts: { to: Address; re: string[] }[], answers: boolean): AnswerPlan[] {
  const plans = new Map<string, AnswerPlan>();
  for (const { to, re } of parts) {
    const key = `${to.name}@${to.host ?? ''}`;
    const plan = plans.get(key) ?? { to, re: [], answers };
    plan.re = union(plan.re, re);
    plans.set(key, plan);
  }
  return [...plans.values()];
}

/** The messages a non-empty stdout becomes: one per asker, body as printed. */
export function answerMessages(
  plans: readonly AnswerPlan[],
  batch: readonly Located[],
  body: string,
  writer: Writer,
): Message[] {
  const cause = batch.map(({ relPath }) => relPath);
  return plans.map((plan) => compose([plan.to], plan.re, cause, body, writer));
}

/** What a `send` asks for, before it is linked. */
export interface SendRequest {
  to: Address[];
  body: string;
  tier?: string;
  /** The messages being processed; empty outside a dispatch and with `--new`. */
  triggers: Located[];
}

/**
 * The messages a `send` becomes: addressees who sent something in the causal chain get an answer
 * to it, the others a new task, so at most two messages (protocol.md §4).
 */
export function sendMessages(request: SendRequest, writer: Writer, lookup: Lookup): Message[] {
  const cause = request.triggers.map(({ relPath }) => relPath);
  const tasks: Address[] = [];
  const answers: Address[] = [];
  let re: string[] = [];
  for (const address of request.to) {
    const answered = answeredBySend(request.triggers, address.name, lookup);
    if (answered.length > 0) answers.push(askedFrom(address, answered, lookup));
    else tasks.push(address);
    re = union(re, answered);
  }
  const write = (to: Address[], answered: string[]): Message[] =>
    to.length === 0 ? [] : [compose(to, answered, cause, request.body, writer, request.tier)];
  return [...write(tasks, []), ...write(answers, re)];
}

/** Whoever is answered by a bare name is meant where it asked: a twin on another host knows of nothing. */
function askedFrom(address: Address, answered: readonly string[], lookup: Lookup): Address {
  if (address.host !== undefined) return address;
  const hosts = new Set(answered.map((relPath) => lookup(relPath)?.host));
  const [host] = hosts;
  return hosts.size === 1 && host !== undefined ? { ...address, host } : address;
}

function compose(
  to: Address[],
  re: string[],
  cause: string[],
  body: string,
  writer: Writer,
  tier?: string,
): Message {
  // What does not fit into a header is left out where what is answered says nearly the same.
  const isLong = linksBytes(re) + linksBytes(cause) > MAX_LINKS_BYTES;
  const omitted = sameSet(cause, re) || (isLong && re.length > 0);
  return {
    from: writer.actor,
    to,
    type: 'text',
    timestamp: writer.at.toISOString(),
    re,
    cause: omitted ? [] : cause,
    ...(tier === undefined ? {} : { tier }),
    ...(writer.host === undefined ? {} : { host: writer.host }),
    extra: {},
    body,
  };
}

/** Reads a comma-separated list of addressees; duplicates count once. */
export function parseRecipients(text: string): { to: Address[]; problems: string[] } {
  const to: Address[] = [];
  const problems: string[] = [];
  for (const part of new Set(text.split(',').map((item) => item.trim()))) {
    const address = parseAddress(part);
    if (address.ok) to.push(address.value);
    else problems.push(...address.problems);
  }
  return { to, problems };
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const known = new Set(b);
  return a.length === b.length && a.every((item) => known.has(item));
}
