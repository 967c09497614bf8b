import type { Clock } from '../../clock.ts';
import { withoutCredentials } from '../../credentials.ts';
import { failuresAllowed } from '../../protocol/files/tier-fallback.ts';
import { NO_REASON } from '../../protocol/cancel.ts';
import type { Message } from '../../protocol/message.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { retryDelay, type DeadLetter } from '../../state/dead-letters.ts';
import type { RunRecord } from '../../state/runs.ts';
import type { Log } from '../../log.ts';
import { isPermanent, type FailedJob, type Job, type ParkedFor, afterFailure } from './job.ts';

/** Milliseconds until a retry with unreadable messages is examined again. */
const UNREAD_WAIT_MS = 60_000;

/**
 * Returns the dead letters of a failed run: the retried letter again, or one letter for each message of the batch
 * (protocol.md §8).
 */
export function failedLetters(
  engine: Clock,
  job: Job,
  ended: FailedJob,
  previous: DeadLetter | undefined,
): DeadLetter[] {
  const parcels =
    previous === undefined ? job.messages.map((relPath) => [relPath]) : [previous.messages];
  return parcels.map((messages) => failedLetter(engine, job, ended, messages, previous));
}

function failedLetter(
  { now, random, newId }: Clock,
  job: Job,
  ended: FailedJob,
  messages: string[],
  previous: DeadLetter | undefined,
): DeadLetter {
  const { failure, result } = ended;
  const at = now();
  // Tries on other hosts count too.
  const elsewhere = Math.max(0, ...(job.claims ?? []).map(({ attempts: made }) => made));
  const counted = Math.max(previous?.attempts_since_release ?? 0, elsewhere) + 1;
  const isConcerned = failure.only?.some((relPath) => messages.includes(relPath)) ?? true;
  const hopeless = isConcerned && isPermanent(ended, previous);
  const after = afterFailure(job, previous, hopeless, failure.reason, elsewhere);
  const quarantined = after.next === undefined;
  const wait = retryDelay(after.next?.failures ?? 0, job.tier.retryDelay, random());
  const next = new Date(at.getTime() + wait);
  const [asked = job.tier] = job.tiers;
  return {
    id: previous?.id ?? newId(),
    state: quarantined ? 'quarantined' : 'retrying',
    actor: job.actor,
    channel: job.channel,
    messages,
    tier: job.tier.name,
    ...(asked.name !== job.tier.name && { tier_asked: asked.name }),
    ...(job.tiers.length > 1 && { failures: after.failures }),
    command: job.tier.cli,
    reason: failure.reason,
    detail: withoutCredentials(failure.detail),
    exit_code: result.exitCode,
    signal: result.signal,
    stderr_tail: withoutCredentials(result.stderrTail),
    attempts: (previous?.attempts ?? 0) + 1,
    attempts_since_release: counted,
    attempts_allowed: job.tiers.reduce((all, tier) => all + failuresAllowed(job.tiers, tier), 0),
    first_failed_at: previous?.first_failed_at ?? at.toISOString(),
    last_failed_at: at.toISOString(),
    ...(quarantined ? {} : { next_retry_at: next.toISOString() }),
  };
}

/**
 * Returns the letter of a retry whose messages cannot be read: it has not been tried, so it becomes due again later.
 */
export function postponed({ now }: Clock, letter: DeadLetter): DeadLetter {
  const next = new Date(now().getTime() + UNREAD_WAIT_MS);
  return { ...letter, next_retry_at: next.toISOString() };
}

/**
 * Returns the letter of a message during whose runs the dispatcher died again and again.
 *
 * @param known the letter that the message has already: a delivery has one, and is reported once
 */
export function interruptedLetter(
  { now, newId }: Now,
  run: Pick<RunRecord, 'actor' | 'channel'>,
  relPath: string,
  times: number,
  known: DeadLetter | undefined,
): DeadLetter {
  const at = now().toISOString();
  const detail = `the dispatcher ended in the middle of the run, ${String(times)} times in a row`;
  if (known !== undefined) {
    const letter: DeadLetter = {
      ...known,
      state: 'quarantined',
      reason: 'interrupted',
      detail,
      last_failed_at: at,
    };
    delete letter.next_retry_at;
    return letter;
  }
  return {
    id: newId(),
    state: 'quarantined',
    actor: run.actor,
    channel: run.channel,
    messages: [relPath],
    tier: '',
    command: '',
    reason: 'interrupted',
    detail,
    exit_code: null,
    signal: null,
    stderr_tail: '',
    attempts: times,
    attempts_since_release: times,
    first_failed_at: at,
    last_failed_at: at,
  };
}

/** Returns the letters of a batch that a guard stopped before it ran; `crosstalk dlq --retry` releases them. */
export function parkedLetter(
  engine: Now,
  job: Job,
  { detail, reason = 'too_deep' }: { detail: string; reason?: 'too_deep' | ParkedFor },
): DeadLetter {
  const { actor, channel, messages, tier, tiers } = job;
  const [asked = tier] = tiers;
  const letter = untried(engine, { actor, channel, messages });
  return {
    ...letter,
    state: 'parked',
    tier: tier.name,
    ...(asked.name !== tier.name && { tier_asked: asked.name }),
    command: tier.cli,
    reason,
    detail,
  };
}

/**
 * Returns the letter of a message that was taken back, and that of the other messages of its batch.
 *
 * @param known the letter that the message has already; it may be one for several messages, and then it stays as it
 * is for the others, which nobody took back
 */
export function cancelledLetters(
  engine: Now,
  delivery: Pick<DeadLetter, 'actor' | 'channel' | 'messages'>,
  cancel: Pick<Message, 'from' | 'body'>,
  known: DeadLetter | undefined,
): { letter: DeadLetter; rest?: DeadLetter } {
  const others = known?.messages.filter((relPath) => !delivery.messages.includes(relPath)) ?? [];
  const untold = untried(engine, delivery);
  const letter: DeadLetter = {
    ...(known ?? untold),
    ...(others.length > 0 && { id: untold.id, messages: delivery.messages }),
    state: 'cancelled',
    reason: 'cancelled',
    detail: whyCancelled(cancel),
    last_failed_at: engine.now().toISOString(),
  };
  delete letter.next_retry_at;
  if (known === undefined || others.length === 0) return { letter };
  return { letter, rest: { ...known, messages: others } };
}

/** Returns the letter of a message that another host had taken, which has not been heard of for its lease. */
export function abandonedLetter(
  engine: Now,
  delivery: Pick<DeadLetter, 'actor' | 'channel' | 'messages'>,
  { host, at }: { host: string; at: string },
): DeadLetter {
  const detail = `${escapeInvisible(host)} took it${at === '' ? '' : ` at ${at}`}, and was not heard of again`;
  return { ...untried(engine, delivery), state: 'quarantined', reason: 'host_gone', detail };
}

/** The most characters of a given reason that a dead letter keeps. */
const MAX_REASON = 200;

function whyCancelled({ from, body }: Pick<Message, 'from' | 'body'>): string {
  const [why = ''] = body.trim().split('\n');
  const said = ['', NO_REASON].includes(why)
    ? ''
    : `: ${escapeInvisible(why.slice(0, MAX_REASON))}`;
  return `${from} took it back${said}`;
}

type Now = Pick<Clock, 'now' | 'newId'>;

/** Returns the fields that letters of deliveries that never ran have in common. */
function untried(
  { now, newId }: Now,
  delivery: Pick<DeadLetter, 'actor' | 'channel' | 'messages'>,
): Omit<DeadLetter, 'state' | 'reason' | 'detail'> {
  const at = now().toISOString();
  return {
    id: newId(),
    ...delivery,
    tier: '',
    command: '',
    exit_code: null,
    signal: null,
    stderr_tail: '',
    attempts: 0,
    attempts_since_release: 0,
    first_failed_at: at,
    last_failed_at: at,
  };
}

/** Logs the failed delivery of a letter that was written. */
export function sayFailed(log: Log, letter: DeadLetter): void {
  const { id, actor, channel, messages, reason, attempts, next_retry_at: next } = letter;
  const facts = { id, actor, channel, messages, reason, attempts };
  log('dead_letter', { ...facts, ...(next !== undefined && { next_retry_at: next }) });
  if (letter.state === 'quarantined') log('quarantined', facts);
}
