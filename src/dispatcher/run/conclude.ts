import type { Engine } from './engine.ts';
import { canAnswerAt, isServed } from '../../bus/peers.ts';
import {
  openQuestionsOfBatch,
  linksBytes,
  MAX_LINKS_BYTES,
  seenFrom,
} from '../../protocol/causality.ts';
import { cancelOf } from '../../protocol/cancel.ts';
import { awaitsAsker, lastWord, withInterim } from '../../protocol/interim.ts';
import {
  formatMessage,
  MAX_MESSAGE_BYTES,
  type Located,
  type Message,
} from '../../protocol/message.ts';
import { awaitsPeers, mayBeSilent } from '../../protocol/pending.ts';
import { placeOfRef, refFrom } from '../../protocol/layout.ts';
import { answerMessages, askersOf, type Placed, type Writer } from '../../protocol/reply.ts';
import { withSteerings } from '../../protocol/steer.ts';
import type { SessionKind } from '../../protocol/files/tier-options.ts';
import type { CliOutcome } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { askedBy, type Briefing } from './briefing.ts';
import { checkSchemas, type SchemaMismatch } from './prompt-of.ts';
import { planned, type Planned } from './plan.ts';
import type { Job, JobResult } from './job.ts';

/** Output of a CLI that ended on its own: some text, or nothing. */
type Said = Extract<CliOutcome, { kind: 'answered' | 'silent' }>;

/** Decides the outcome of the text of a run, or of its silence. */
export async function conclude(
  engine: Engine,
  job: Job,
  briefing: Briefing,
  said: Said,
  result: InvocationResult,
): Promise<JobResult> {
  const now = await withSent(engine, job, briefing);
  const writer = { actor: job.actor, host: job.host, at: engine.now() };
  const { lacking, absent } = briefing;
  if (said.kind === 'answered') {
    if (job.plans === true)
      return fitting(planned(engine, job, briefing, { text: said.text, result }));
    const { plans, answered, batch } = briefing;
    const marked = withInterim(plans, job.actor, answered, now.channel, now.lookup, now.canAnswer);
    const fitted = await checkSchemas(now, marked, said.text);
    if (!fitted.ok) return failed(result, fitted.reason, fitted.detail);
    const answers = answerMessages(marked, batch, fitted.text, writer, job.channel);
    const whole = withTiers(answers.map(fitted.mark), job);
    return answeredOrTooLong(withUsage(whole, result), briefing, result);
  }
  const last = await lastWords(engine, job, now, writer);
  if ('reason' in last) return failed(result, last.reason, last.detail);
  if (last.length > 0)
    return {
      kind: 'answered',
      answers: withUsage(withTiers(last, job), result),
      result,
      lacking,
      absent,
    };
  return silenceIsFine(job, now)
    ? { kind: 'silent', result, lacking, absent, ...(waitsForOthers(job, now) && { waits: true }) }
    : failed(result, 'empty_answer', 'printed nothing, and one question was waiting for an answer');
}

/** Returns the result of a run that failed for a reason that its CLI did not give. */
export function failed(
  result: InvocationResult,
  reason: (CliOutcome & { kind: 'failed' })['reason'],
  detail: string,
): JobResult {
  return { kind: 'failed', failure: { kind: 'failed', reason, detail }, result };
}

/** Whether all that a batch asks was answered before. */
export function hasAnswered(actor: string, briefing: Briefing): boolean {
  const questions = questionsOf(actor, briefing);
  return questions.length > 0 && questions.every((question) => briefing.answered.has(question));
}

/** Whether a batch of one has its answer, from whichever host: claims are files that anybody can push. */
export function isAnsweredAnywhere(
  actor: string,
  { batch: [first, ...more], channel }: Briefing,
): boolean {
  if (first === undefined || more.length > 0 || first.message.re.length > 0) return false;
  return channel.some(
    ({ message: { from, re, interim, failed, cancels } }) =>
      from === actor &&
      re.includes(first.relPath) &&
      interim !== true &&
      failed === undefined &&
      cancels === undefined,
  );
}

/** Whether all that a batch asks was taken back. */
export function isCancelled(actor: string, briefing: Briefing): boolean {
  const questions = questionsOf(actor, briefing);
  return questions.length > 0 && questions.every((question) => briefing.cancelled.has(question));
}

/**
 * Returns the message that took back a batch of one whose asker has not been told so. Where one of several hosts takes
 * each task, that is left to the one which has it.
 */
export function untoldCancel(
  actor: string,
  { batch: [first, ...more], channel }: Briefing,
): Message | undefined {
  if (first === undefined || more.length > 0) return undefined;
  const isTold = channel.some(
    ({ message: { from, failed, re } }) =>
      from === actor && failed !== undefined && re.includes(first.relPath),
  );
  return isTold ? undefined : cancelOf(first, channel, { isNobodys: false })?.message;
}

/** Whether a peer still owes its part of the work of a batch. */
export function stillAwaits(actor: string, briefing: Briefing): boolean {
  const { channel, lookup, canAnswer } = briefing;
  return awaitsPeers(actor, questionsOf(actor, briefing), channel, lookup, canAnswer);
}

/** Returns the open questions of a batch. */
export function questionsOf(actor: string, { batch, lookup }: Briefing): string[] {
  return openQuestionsOfBatch(batch, actor, lookup).map(({ relPath }) => relPath);
}

function answeredOrTooLong(
  answers: Placed[],
  { lacking, absent }: Briefing,
  result: InvocationResult,
): JobResult {
  return tooLong(answers, result) ?? { kind: 'answered', answers, result, lacking, absent };
}

function fitting(plan: Planned): JobResult {
  return tooLong(plan.messages, plan.result) ?? plan;
}

/** Returns the failure of a run whose answers no message could hold. */
function tooLong(answers: readonly Placed[], result: InvocationResult): JobResult | undefined {
  const size = Math.max(...answers.map(({ message }) => Buffer.byteLength(formatMessage(message))));
  const links = Math.max(
    ...answers.map(({ message: { re, cause } }) => linksBytes(re) + linksBytes(cause)),
  );
  if (links > MAX_LINKS_BYTES) {
    const detail = 'the answer would name more messages than a header of 64 KiB has room for';
    return failed(result, 'too_much_output', detail);
  }
  return size > MAX_MESSAGE_BYTES
    ? failed(
        result,
        'too_much_output',
        `the answer would be a message of ${String(size)} bytes; the limit is 1 MiB`,
      )
    : undefined;
}

/** Briefing with the messages that its run has sent. */
interface Now extends Briefing {
  /** Number of messages that the run has sent to somebody. */
  sent: number;
}

async function withSent(engine: Engine, job: Job, briefing: Briefing): Promise<Now> {
  const sent = await engine.runs.sent(job.id);
  const seen = sent.map(([channel, located]) => seenFrom(job.channel, channel, located));
  const known = new Map(seen.map(({ relPath, message }) => [relPath, message]));
  const channel = [...briefing.channel, ...seen];
  // The served actors may have changed while it ran.
  const tip = (await engine.transport.tip()) ?? job.tip;
  const canAnswer = await canAnswerAt(engine.transport, tip, askedBy(job.actor, channel));
  // An answer that belongs to no message, and goes to nobody, counts as not given.
  const reaches = async ([, { message }]: Sent): Promise<boolean> =>
    message.re.length + message.cause.length > 0 ||
    (await Promise.all(message.to.map((one) => isServed(engine.transport, tip, one)))).includes(
      true,
    );
  const reached = await Promise.all(sent.map(reaches));
  return {
    ...briefing,
    channel,
    lookup: (ref) => briefing.lookup(ref) ?? known.get(ref),
    canAnswer,
    sent: reached.filter(Boolean).length,
  };
}

/**
 * Returns the text that the actor printed on the way, as its answer: the only text there is if it has nothing to add
 * and nobody owes it anything.
 */
async function lastWords(
  { reader }: Engine,
  { actor, channel, tip }: Job,
  now: Now,
  writer: Writer,
): Promise<Placed[] | SchemaMismatch> {
  const { batch, answered, channel: thread, lookup, canAnswer } = now;
  const questions = openQuestionsOfBatch(batch, actor, lookup);
  const open = questions.filter(({ relPath }) => !answered.has(relPath));
  const found: Placed[] = [];
  for (const plan of withSteerings(askersOf(open), actor, thread, answered)) {
    const ref = lastWord(plan, actor, thread, lookup, canAnswer);
    if (ref === undefined) continue;
    const place = placeOfRef(channel, ref);
    const [word] = await reader.messages(tip, place.channel, [place.relPath]);
    if (word === undefined) continue;
    const fitted = await checkSchemas(now, [plan], word.message.body);
    if (!fitted.ok) return fitted;
    for (const answer of answerMessages([plan], batch, fitted.text, writer, channel).map(
      fitted.mark,
    )) {
      const final = refFrom(answer.channel, place.channel, place.relPath);
      found.push({ ...answer, message: { ...answer.message, final } });
    }
  }
  return found;
}

/**
 * Adds the tier to an answer from another tier than requested. A `tier` in a message that wakes an actor would
 * request that tier of its own, so only people receive both.
 */
function withTiers(answers: Placed[], { tier, tiers }: Job): Placed[] {
  const [asked = tier] = tiers;
  if (asked.name === tier.name) return answers;
  return answers.map(({ channel, message }) => {
    const isToPeople = message.to.every(({ host }) => host === undefined);
    const extra = { ...message.extra, tier_asked: asked.name };
    return {
      channel,
      message: { ...message, ...(isToPeople && { tier: tier.name }), extra },
    };
  });
}

/**
 * Adds the usage of a run to its first answer; if each had it, it would be counted twice. Each states whether the run
 * continued a session, in a tier that keeps any.
 */
function withUsage(given: Placed[], { usage, duration, sessionKind }: InvocationResult): Placed[] {
  const answers =
    sessionKind === undefined ? given : given.map((one) => withSession(one, sessionKind));
  const [first, ...others] = answers;
  if (usage === undefined || first === undefined) return answers;
  const told = { ...first.message, usage: { ...usage, ms: duration } };
  return [{ ...first, message: told }, ...others];
}

function withSession({ channel, message }: Placed, session: SessionKind): Placed {
  return { channel, message: { ...message, extra: { ...message.extra, session } } };
}

/** Whether a peer owes its part of the work, or the asker was asked back. */
function waitsForOthers({ actor }: Pick<Job, 'actor'>, now: Now): boolean {
  return stillAwaits(actor, now) || awaitsAsker(actor, questionsOf(actor, now), now.channel);
}

function silenceIsFine({ actor }: Job, now: Now): boolean {
  const questions = questionsOf(actor, now);
  return mayBeSilent({
    openQuestions: questions.length,
    batchSize: now.batch.length,
    sentDuringRun: now.sent,
    awaitsPeers: waitsForOthers({ actor }, now),
    answeredBefore: questions.every((question) => now.answered.has(question)),
  });
}

type Sent = [channel: string, located: Located];
