import type { Job, JobResult, RunParts } from './job.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, type CliOutcome } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { MAX_STEPS, openQuestionsOfBatch } from '../../protocol/causality.ts';
import { messageFile, PROTOCOL_FILE } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES, formatMessage, type Located } from '../../protocol/message.ts';
import { awaitsPeers, mayBeSilent } from '../../protocol/pending.ts';
import { formatPrompt } from '../../protocol/prompt.ts';
import { linksBytes, MAX_LINKS_BYTES } from '../../protocol/links.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import { answerMessages } from '../../protocol/reply.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { brief, shownThread, type Briefing } from './briefing.ts';
import { Beginning } from '../../bus/beginning.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { refusedIfSo } from './refusals.ts';
import { NOTHING_RAN, runIn } from './cli.ts';
import { answersOf, stillOpen } from '../intake/still-open.ts';
import { workplaceOf, type Workplace } from './workplace.ts';

/** Runs an actor's CLI on a batch and returns the result. It writes nothing except the run record. */
export async function runJob(parts: RunParts, job: Job): Promise<JobResult> {
  const ended = await runCli(parts, job);
  return ended.kind === 'failed'
    ? refusedIfSo(job.tier.cli, ended, parts.now(), parts.zone)
    : ended;
}

async function runCli(parts: RunParts, job: Job): Promise<JobResult> {
  const briefing = await brief(parts, job);
  if (briefing.unread.length > 0) return { kind: 'unread', messages: briefing.unread };
  const { absent } = briefing;
  if (briefing.batch.length === 0) return { kind: 'gone', absent };
  if ((job.released || job.isRest) && (await isAnswered(parts, job, briefing.batch)))
    return { kind: 'gone' };
  if (job.isDealt && hasAnswered(job.actor, briefing)) return { kind: 'gone' };
  // The peer that answers last completes the goal.
  if (job.isRest && stillAwaits(job.actor, briefing)) return { kind: 'gone' };
  // A chain is not followed beyond this limit: one of this depth may be of any depth.
  const isDeep = briefing.depth > Math.min(job.tier.maxDepth, MAX_STEPS - 1);
  if (!job.released && isDeep) {
    const detail = `the thread is ${String(briefing.depth)} messages deep, more than ${String(job.tier.maxDepth)}`;
    return { kind: 'parked', detail };
  }
  const { actor, channel } = job;
  const root = placeOfRef(channel, threadRoot(briefing.batch, briefing.lookup));
  const thread = { channel: root.channel, root: root.relPath };
  let place: Workplace;
  try {
    place = await workplaceOf(parts, { actor, tier: job.tier, thread });
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    return failed(NOTHING_RAN, 'bad_workdir', error.message);
  }
  const maxOutput = MAX_MESSAGE_BYTES;
  let result: InvocationResult;
  try {
    result = await runIn(parts, job, place, {
      input: await promptOf(parts, job, briefing, place),
      batch: briefing.batch,
      maxOutput,
    });
    if (place.workspace)
      await parts.workspaces
        .touch(place.dir, { actor, ...thread }, parts.now())
        .catch(() => undefined);
  } finally {
    parts.workspaces.leave(place.dir);
  }
  const outcome = outcomeOf(result, { timeout: job.tier.timeout, maxOutput });
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome, result };
  if (outcome.kind === 'silent') {
    return (await silenceIsFine(parts, job, briefing))
      ? { kind: 'silent', result, lacking: briefing.lacking, absent }
      : failed(
          result,
          'empty_answer',
          'printed nothing, and one question was waiting for an answer',
        );
  }
  const writer = { actor: job.actor, host: job.host, at: parts.now() };
  const answers = answerMessages(briefing.plans, briefing.batch, outcome.text, writer, channel);
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
    : { kind: 'answered', answers, result, lacking: briefing.lacking, absent };
}

/** A dead letter may be older than the answer, if the state was restored or on a first scan. */
async function isAnswered(parts: RunParts, job: Job, batch: readonly Located[]): Promise<boolean> {
  const { transport } = parts;
  const paths = batch.map(({ relPath }) => relPath).sort();
  const files = paths.map((relPath) => messageFile(job.channel, relPath));
  const begun = new Beginning(transport, job.tip, paths[0] ?? '', files);
  const ownOf = await answersOf(parts, { ...job, actors: new Set([job.actor]) }, begun);
  return (await stillOpen(parts, job, batch, ownOf(job.actor))).size === 0;
}

function failed(
  result: InvocationResult,
  reason: (CliOutcome & { kind: 'failed' })['reason'],
  detail: string,
): JobResult {
  return { kind: 'failed', failure: { kind: 'failed', reason, detail }, result };
}

async function promptOf(
  parts: RunParts,
  job: Job,
  briefing: Briefing,
  place: Workplace,
): Promise<string> {
  const { reader, log, secret } = parts;
  const { batch, plans } = briefing;
  const [protocol, { profile, problem }, about, thread] = await Promise.all([
    reader.text(job.tip, PROTOCOL_FILE),
    profileInForce(parts, job.tip, job.actor),
    reader.channel(job.tip, job.channel),
    shownThread(reader, job, briefing),
  ]);
  if (problem !== undefined) log('profile_invalid', { actor: job.actor, problem });
  return formatPrompt({
    word: secret(8),
    protocol: protocol ?? '',
    profile: profile?.body ?? '',
    channel: about,
    actor: job.actor,
    host: job.host,
    tier: job.tier.name,
    workdir: { path: place.dir, workspace: place.workspace },
    answers: plans,
    thread,
    batch,
  });
}

function questionsOf(actor: string, { batch, lookup }: Briefing): string[] {
  return openQuestionsOfBatch(batch, actor, lookup).map(({ relPath }) => relPath);
}

function hasAnswered(actor: string, briefing: Briefing): boolean {
  const questions = questionsOf(actor, briefing);
  return questions.length > 0 && questions.every((question) => briefing.answered.has(question));
}

function stillAwaits(actor: string, briefing: Briefing): boolean {
  const { channel, lookup } = briefing;
  return awaitsPeers(actor, questionsOf(actor, briefing), channel, lookup);
}

async function silenceIsFine(parts: RunParts, job: Job, briefing: Briefing): Promise<boolean> {
  const { batch, answered } = briefing;
  const questions = questionsOf(job.actor, briefing);
  return mayBeSilent({
    openQuestions: questions.length,
    batchSize: batch.length,
    sentDuringRun: await countSent(parts, job),
    awaitsPeers: stillAwaits(job.actor, briefing),
    answeredBefore: questions.every((question) => answered.has(question)),
  });
}

const READ_TRIES = 10;
const READ_WAIT_MS = 500;

/**
 * Counts the requests that a run sent. The run has been paid for, so a disk that fails for a moment
 * does not cause it to be repeated.
 */
async function countSent({ runs, log, signal }: RunParts, { id }: Job): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      return (await runs.sent(id)).length;
    } catch (error) {
      if (tries === READ_TRIES || signal.aborted) throw error;
      log('internal_error', { id, error: reasonOf(error) });
      await sleep(READ_WAIT_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
