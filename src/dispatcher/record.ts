import { withoutCredentials } from '../credentials.ts';
import { passed } from '../crash-points.ts';
import type { Outcome } from '../agent/outcome.ts';
import type { InvocationResult } from '../agent/invoke.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { retryDelay, type DeadLetter, type DeadLetters } from '../state/dead-letters.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Runs } from '../state/runs.ts';
import type { Log } from './log.ts';
import type { Publisher } from './publisher.ts';
import type { Job, JobResult } from './run.ts';

export interface RecordParts {
  outbox: Outbox;
  deadLetters: DeadLetters;
  runs: Runs;
  publisher: Publisher;
  log: Log;
  settle: (actor: string, channel: string, relPaths: readonly string[]) => Promise<void>;
  giveBack: (actor: string, channel: string, relPaths: readonly string[]) => void;
  now: () => Date;
  random: () => number;
  newId: () => string;
  suffix: () => string;
}

/**
 * Puts the outcome of a run on record. Order, for a crash between any two steps: outbox entry or
 * dead letters on disk → run record removed → (push) → mailbox settled, cursors saved → outbox
 * entry removed. Until the first step is done the run counts as never made and is repeated;
 * after it, never.
 *
 * @returns a promise for the push, so that the lane is free before it ends; undefined without one
 */
export async function record(
  parts: RecordParts,
  job: Job,
  outcome: JobResult,
  letter: DeadLetter | undefined,
): Promise<Promise<void> | undefined> {
  const { actor, channel, messages } = job;
  const facts = { id: job.id, actor, channel, tier: job.tier.name, messages };
  switch (outcome.kind) {
    case 'answered': {
      const entry = answerEntry(parts, job, outcome.answers, letter);
      await parts.outbox.put(entry.entry);
      parts.publisher.expect(entry.entry);
      passed('output_recorded');
      parts.log('reply_queued', { ...facts, replies: entry.relPaths });
      await parts.runs.end(job.id);
      passed('run_removed');
      return publishAnswer(parts, entry, { ...facts, duration_ms: outcome.result.duration });
    }
    case 'silent':
      await finish(parts, job, letter);
      parts.log('dispatch_silent', { ...facts, ...stderrOf(outcome.result) });
      parts.log('dispatch_done', {
        ...facts,
        replied: false,
        duration_ms: outcome.result.duration,
      });
      return undefined;
    case 'gone':
      await finish(parts, job, letter);
      return undefined;
    case 'parked':
      await park(parts, job, outcome.detail);
      await parts.settle(actor, channel, messages);
      return undefined;
    case 'stopped':
    case 'refused':
      // The letter of a refused retry stays as it is, due and held.
      parts.giveBack(actor, channel, messages);
      await parts.runs.end(job.id);
      return undefined;
    case 'failed':
      parts.log('dispatch_failed', {
        ...facts,
        reason: outcome.failure.reason,
        detail: outcome.failure.detail,
        duration_ms: outcome.result.duration,
      });
      await bury(parts, job, outcome.failure, outcome.result, letter);
      await parts.settle(actor, channel, messages);
      passed('letter_settled');
      await parts.runs.end(job.id);
      return undefined;
  }
}

function answerEntry(
  parts: RecordParts,
  job: Job,
  answers: Extract<JobResult, { kind: 'answered' }>['answers'],
  letter: DeadLetter | undefined,
): { entry: OutboxEntry; relPaths: string[] } {
  const written = answers.map((message) =>
    outgoing(message, job.channel, job.host, parts.suffix()),
  );
  const { actor, channel, messages } = job;
  return {
    relPaths: written.map(({ relPath }) => relPath),
    entry: {
      id: parts.newId(),
      commits: written.map(({ commit }) => commit),
      delivery: {
        actor,
        channel,
        messages,
        ...(letter === undefined ? {} : { deadLetter: letter.id }),
      },
    },
  };
}

async function publishAnswer(
  parts: RecordParts,
  { entry, relPaths }: { entry: OutboxEntry; relPaths: string[] },
  facts: Record<string, unknown>,
): Promise<void> {
  const published = await parts.publisher.publish(entry.id);
  parts.log('dispatch_done', {
    ...facts,
    replied: true,
    replies: relPaths,
    published: published.published,
  });
}

async function finish(parts: RecordParts, job: Job, letter: DeadLetter | undefined): Promise<void> {
  await parts.settle(job.actor, job.channel, job.messages);
  if (letter !== undefined) await parts.deadLetters.remove(letter.id);
  await parts.runs.end(job.id);
}

/** Writes dead letters: the retried one again, or one for each message of the batch (protocol.md §8). */
async function bury(
  parts: RecordParts,
  job: Job,
  failure: Outcome & { kind: 'failed' },
  result: InvocationResult,
  previous: DeadLetter | undefined,
): Promise<void> {
  const parcels =
    previous === undefined ? job.messages.map((relPath) => [relPath]) : [previous.messages];
  for (const messages of parcels) {
    const letter = deadLetter(parts, job, failure, result, messages, previous);
    await parts.deadLetters.put(letter);
    passed('letter_written');
    const facts = {
      id: letter.id,
      actor: letter.actor,
      channel: letter.channel,
      messages,
      reason: letter.reason,
      attempts: letter.attempts,
    };
    parts.log('dead_letter', {
      ...facts,
      ...(letter.next_retry_at && { next_retry_at: letter.next_retry_at }),
    });
    if (letter.state === 'quarantined') parts.log('quarantined', facts);
  }
}

function deadLetter(
  { now, random, newId }: RecordParts,
  job: Job,
  failure: Outcome & { kind: 'failed' },
  result: InvocationResult,
  messages: string[],
  previous: DeadLetter | undefined,
): DeadLetter {
  const at = now();
  const counted = (previous?.attempts_since_release ?? 0) + 1;
  const quarantined = counted >= job.tier.attempts;
  const next = new Date(at.getTime() + retryDelay(counted, job.tier.retryDelay, random()));
  return {
    id: previous?.id ?? newId(),
    state: quarantined ? 'quarantined' : 'retrying',
    actor: job.actor,
    channel: job.channel,
    messages,
    tier: job.tier.name,
    command: job.tier.cli,
    reason: failure.reason,
    detail: withoutCredentials(failure.detail),
    exit_code: result.exitCode,
    signal: result.signal,
    stderr_tail: withoutCredentials(result.stderrTail),
    attempts: (previous?.attempts ?? 0) + 1,
    attempts_since_release: counted,
    first_failed_at: previous?.first_failed_at ?? at.toISOString(),
    last_failed_at: at.toISOString(),
    ...(quarantined ? {} : { next_retry_at: next.toISOString() }),
  };
}

/** Sets a batch aside that a guard stopped before it ran; `crosstalk dlq --retry` releases it. */
async function park(parts: RecordParts, job: Job, detail: string): Promise<void> {
  const at = parts.now().toISOString();
  const { actor, channel, messages, tier } = job;
  const letter: DeadLetter = {
    id: parts.newId(),
    state: 'parked',
    actor,
    channel,
    messages,
    tier: tier.name,
    command: tier.cli,
    reason: 'too_deep',
    detail,
    exit_code: null,
    signal: null,
    stderr_tail: '',
    attempts: 0,
    attempts_since_release: 0,
    first_failed_at: at,
    last_failed_at: at,
  };
  await parts.deadLetters.put(letter);
  passed('letter_written');
  parts.log('parked', { id: letter.id, actor, channel, messages, reason: 'too_deep', detail });
}

/** What a CLI said beside its (empty) answer: often why there is none. */
function stderrOf({ stderrTail }: InvocationResult): { stderr?: string } {
  const text = stderrTail.trim();
  return text === '' ? {} : { stderr: text.slice(-500) };
}
