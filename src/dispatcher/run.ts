import { linksBytes, MAX_LINKS_BYTES } from '../protocol/mailbox.ts';
import { passed } from '../crash-points.ts';
import { outcomeOf, type Outcome } from '../agent/outcome.ts';
import { invoke, type InvocationResult } from '../agent/invoke.ts';
import type { Lookup } from '../protocol/causality.ts';
import { chainLevels, openQuestionsOfBatch } from '../protocol/causality.ts';
import type { Tier } from '../protocol/host-file.ts';
import { parseProfile } from '../protocol/actor.ts';
import { profileFiles, PROTOCOL_FILE } from '../protocol/layout.ts';
import {
  MAX_MESSAGE_BYTES,
  formatMessage,
  type Located,
  type Message,
} from '../protocol/message.ts';
import { answeredBefore, awaitsPeers, mayBeSilent } from '../protocol/pending.ts';
import { formatPrompt } from '../protocol/prompt.ts';
import type { Refusal } from '../protocol/refusal.ts';
import { answerMessages, planAnswers, type AnswerPlan } from '../protocol/reply.ts';
import { threadOf, threadStart } from '../protocol/thread.ts';
import type { Runs } from '../state/runs.ts';
import type { Archive } from './archive.ts';
import { refusedIfSo } from './refusals.ts';

/** One activation: a batch of messages for one run of one actor's CLI. */
export interface Job {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  tier: Tier;
  /** The commit the batch is read at. */
  tip: string;
  messages: string[];
  /** An operator released it: the depth guard has spoken already. */
  released: boolean;
}

/** How a job ended; `answers` are complete messages, one per asker. */
export type JobResult =
  | { kind: 'answered'; answers: Message[]; result: InvocationResult }
  | { kind: 'silent'; result: InvocationResult }
  | { kind: 'stopped' }
  | { kind: 'gone' }
  | { kind: 'parked'; detail: string }
  /** The CLI may not work just now: no failure. */
  | { kind: 'refused'; refusal: Refusal; result: InvocationResult }
  | { kind: 'failed'; failure: Outcome & { kind: 'failed' }; result: InvocationResult };

export interface RunParts {
  archive: Archive;
  runs: Runs;
  dir: string;
  stateDir: string;
  /** Holds a `crosstalk` executable; comes first on the CLI's PATH. */
  binDir: string;
  environment: NodeJS.ProcessEnv;
  signal: AbortSignal;
  now: () => Date;
  /** The IANA time zone of this machine. */
  zone: string;
}

/** Messages of the thread's channel that are looked at for a prompt, at most. */
const MAX_THREAD_SCAN = 5000;
const TERM_GRACE_MS = 5000;

/** What a batch is about: read once, used for the prompt and for linking the answer. */
interface Briefing {
  batch: Located[];
  lookup: Lookup;
  /** The channel's messages since the thread began; empty for a fresh task. */
  channel: Located[];
  plans: AnswerPlan[];
  /** Messages from the first question to the batch. */
  depth: number;
}

/** Runs an actor's CLI on a batch and says what came of it. Writes nothing but the run record. */
export async function runJob(parts: RunParts, job: Job): Promise<JobResult> {
  const ended = await runCli(parts, job);
  return ended.kind === 'failed'
    ? refusedIfSo(job.tier.cli, ended, parts.now(), parts.zone)
    : ended;
}

async function runCli(parts: RunParts, job: Job): Promise<JobResult> {
  const briefing = await brief(parts.archive, job);
  if (briefing.batch.length === 0) return { kind: 'gone' };
  if (!job.released && briefing.depth > job.tier.maxDepth) {
    const detail = `the thread is ${String(briefing.depth)} messages deep, more than ${String(job.tier.maxDepth)}`;
    return { kind: 'parked', detail };
  }
  const maxOutput = MAX_MESSAGE_BYTES;
  const result = await invoke({
    command: job.tier.cli,
    cwd: parts.dir,
    env: environmentOf(parts, job),
    input: await promptOf(parts.archive, job, briefing),
    timeout: job.tier.timeout,
    grace: TERM_GRACE_MS,
    maxOutput,
    signal: parts.signal,
    onStart: async (pid) => {
      passed('cli_started');
      const { id, actor, channel, messages } = job;
      await parts.runs.begin({ id, actor, channel, messages }, pid);
      passed('run_recorded');
    },
  });
  passed('cli_ended');
  const outcome = outcomeOf(result, { timeout: job.tier.timeout, maxOutput });
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome, result };
  if (outcome.kind === 'silent') {
    return (await silenceIsFine(parts, job, briefing))
      ? { kind: 'silent', result }
      : failed(
          result,
          'empty_answer',
          'printed nothing, and one question was waiting for an answer',
        );
  }
  const writer = { actor: job.actor, host: job.host, at: parts.now() };
  const answers = answerMessages(briefing.plans, briefing.batch, outcome.text, writer);
  const size = Math.max(...answers.map((message) => Buffer.byteLength(formatMessage(message))));
  const links = Math.max(...answers.map(({ re, cause }) => linksBytes(re) + linksBytes(cause)));
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
    : { kind: 'answered', answers, result };
}

function failed(
  result: InvocationResult,
  reason: (Outcome & { kind: 'failed' })['reason'],
  detail: string,
): JobResult {
  return { kind: 'failed', failure: { kind: 'failed', reason, detail }, result };
}

async function brief(archive: Archive, { tip, channel, messages, actor }: Job): Promise<Briefing> {
  const batch = await archive.messages(tip, channel, messages);
  const lookup = await archive.chain(tip, channel, batch);
  const start = threadStart(batch, lookup);
  const since =
    start === undefined ? [] : await archive.since(tip, channel, start, MAX_THREAD_SCAN);
  const known = new Map(since.map((item) => [item.relPath, item.message]));
  return {
    batch,
    lookup: (relPath) => lookup(relPath) ?? known.get(relPath),
    channel: since,
    plans: planAnswers(batch, actor, lookup),
    depth: chainLevels(batch, lookup).length,
  };
}

async function promptOf(archive: Archive, job: Job, briefing: Briefing): Promise<string> {
  const { batch, lookup, channel, plans } = briefing;
  const [protocol, profile, about] = await Promise.all([
    archive.text(job.tip, PROTOCOL_FILE),
    profileOf(archive, job.tip, job.actor),
    archive.channel(job.tip, job.channel),
  ]);
  return formatPrompt({
    protocol: protocol ?? '',
    profile: profile?.body ?? '',
    channel: about,
    actor: job.actor,
    host: job.host,
    tier: job.tier.name,
    answers: plans,
    thread: threadOf(batch, job.actor, channel, lookup),
    batch,
  });
}

/** An actor's profile, the operator's before the default one; undefined when there is none to read. */
export async function profileOf(
  archive: Archive,
  tip: string,
  actor: string,
): Promise<{ path: string; description: string; body: string } | undefined> {
  for (const path of profileFiles(actor)) {
    const text = await archive.text(tip, path);
    const profile = text === undefined ? undefined : parseProfile(text, actor);
    if (profile?.ok === true)
      return { path, description: profile.value.description, body: profile.value.body };
  }
  return undefined;
}

async function silenceIsFine(
  parts: RunParts,
  job: Job,
  { batch, channel, lookup }: Briefing,
): Promise<boolean> {
  const questions = openQuestionsOfBatch(batch, job.actor, lookup).map(({ relPath }) => relPath);
  return mayBeSilent({
    openQuestions: questions.length,
    batchSize: batch.length,
    sentDuringRun: (await parts.runs.sent(job.id)).length,
    awaitsPeers: awaitsPeers(job.actor, questions, channel, lookup),
    answeredBefore: answeredBefore(job.actor, questions, channel),
  });
}

/** The environment of a dispatched CLI (cli.md). */
function environmentOf(
  { dir, stateDir, binDir, environment }: RunParts,
  job: Job,
): NodeJS.ProcessEnv {
  return {
    ...environment,
    PATH: `${binDir}:${environment['PATH'] ?? ''}`,
    CROSSTALK_TRANSPORT: dir,
    CROSSTALK_STATE_DIR: stateDir,
    CROSSTALK_DISPATCH_ACTOR: job.actor,
    CROSSTALK_DISPATCH_HOST: job.host,
    CROSSTALK_DISPATCH_CHANNEL: job.channel,
    CROSSTALK_DISPATCH_RE: job.messages.join(','),
    CROSSTALK_DISPATCH_ID: job.id,
    CROSSTALK_DISPATCH_TIP: job.tip,
  };
}
