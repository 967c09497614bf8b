import type { CliOutcome } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { type Tier, chooseTier } from '../../protocol/files/host-file.ts';
import { type Refusal, tooLongOf } from '../../agents/refusal.ts';
import type { Message } from '../../protocol/message.ts';
import type { Placed } from '../../protocol/reply.ts';
import type { LogFields } from '../../log.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Gate } from '../../state/gates.ts';
import type { Spent } from './budgets.ts';
import type { OwnClaim } from '../pools/fence.ts';
import type { RunSteering } from '../steering/run-steering.ts';
import { accountOf } from '../../agents/agents.ts';
import { misconfigurationOf } from '../../agents/misconfigured.ts';
import { failuresAllowed, tiersFrom } from '../../protocol/files/tier-fallback.ts';

/** One activation: a batch of messages for one run of one actor's CLI. */
export interface Job {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  channel: string;
  tier: Tier;
  /** The tiers that may handle it, in the order in which they are tried; the first was asked for. */
  tiers: readonly Tier[];
  /** The commit at which the batch is read. */
  tip: string;
  messages: string[];
  /** Whether an operator released it, so that the depth guard does not apply again. */
  released: boolean;
  /**
   * Whether the whole batch was handled before and may complete a goal now: nothing runs while an
   * answer is still due.
   */
  isRest: boolean;
  /**
   * Whether the whole batch was handled while its question was gone, or a run for the same questions
   * has read it in its thread: nothing runs if the questions are answered by now.
   */
  isDealt: boolean;
  /** Whether it only plans: its tier has a gate, and nothing that it proposed was approved yet. */
  plans?: boolean;
  /** The gate of a plan that was approved, which it does now. */
  approval?: Gate;
  /** Open questions behind the answers of peers that it is for, as `<channel id>/<relPath>`. */
  questions?: readonly string[];
  /** Claims behind which it publishes; absent where none is needed. */
  claims?: readonly OwnClaim[];
  /** Ends its run, as another host has its mail. */
  abandon?: () => void;
  /** Aborted when its message was cancelled. */
  cancel: AbortSignal;
  /** Steering while it is under way; absent where its tier keeps no process. */
  steering?: RunSteering;
}

/** Reason why mail is parked, except for the depth of its thread. */
export type ParkedFor = 'no_planning' | 'missing_secret' | 'no_sandbox';

/**
 * Ending of a job. `answers` are complete messages, one per asker, with their destination; `lacking` are paths of
 * missing messages; `absent` are those of the batch that did not exist at its tip.
 */
export type JobResult =
  | {
      kind: 'answered';
      answers: Placed[];
      result: InvocationResult;
      lacking: string[];
      absent?: string[];
    }
  | {
      kind: 'silent';
      result: InvocationResult;
      lacking: string[];
      absent?: string[];
      /** Whether its question is open still, and waits for others. */
      waits?: true;
    }
  | { kind: 'stopped' }
  /** Nothing ran, because another host has its mail, or has dealt with it (`isOver`). */
  | { kind: 'taken'; isOver: boolean }
  /** Nothing is left to do; with `cancel`, its claim has to end with a notice of that. */
  | { kind: 'gone'; absent?: string[]; cancel?: Message }
  /**
   * Nothing ran, because content of the batch's messages, or of messages they answer, is missing
   * from this clone.
   */
  | { kind: 'unread'; messages: string[] }
  | { kind: 'parked'; detail: string; reason?: ParkedFor }
  /**
   * It made a plan, on which the approver decides: the first of the messages asks for that. `open` are the
   * questions that are open now.
   */
  | {
      kind: 'planned';
      approver: string;
      plan: string;
      messages: Placed[];
      open: string[];
      result: InvocationResult;
    }
  /**
   * Nothing ran, because a budget is spent, or likely to be by the runs under way (`spent` is absent). `tell` is the
   * notice to askers, which are remembered by the keys in `told`.
   */
  | { kind: 'over_budget'; spent?: Spent; tell: Placed[]; told: string[] }
  /** The CLI may not work at the moment, which is not a failure. */
  | { kind: 'refused'; refusal: Refusal; result: InvocationResult }
  | { kind: 'failed'; failure: CliOutcome & { kind: 'failed' }; result: InvocationResult };

/** Returns the fields of the log event of a job that starts. */
export function startFacts(job: Job, letter: DeadLetter | undefined): LogFields {
  const { id, actor, channel, tier, tiers, messages, plans } = job;
  const asked = tiers[0]?.name ?? tier.name;
  return {
    ...{ id, actor, channel, tier: tier.name, messages },
    ...(asked !== tier.name && { tier_asked: asked }),
    ...(plans === true && { plans }),
    ...(job.approval && { approved: job.approval.decided?.relPath }),
    ...(letter && { dead_letter: letter.id, attempt: letter.attempts + 1 }),
  };
}

/** A job whose run failed. */
export type FailedJob = Extract<JobResult, { kind: 'failed' }>;

/**
 * Returns the reason of a failed run in the words of its CLI: its command or settings are wrong, or the prompt is too
 * long.
 */
export function asItsCliSays(command: string, ended: FailedJob): FailedJob {
  const agent = accountOf(command)?.agent;
  if (agent === undefined || ended.failure.reason !== 'exit_code') return ended;
  const long = tooLongOf(agent, ended.result);
  const said = long ?? misconfigurationOf(agent, ended.result);
  if (said === undefined) return ended;
  const reason = long === undefined ? 'misconfigured' : 'prompt_too_long';
  return { ...ended, failure: { kind: 'failed', reason, detail: said } };
}

/** Message of the shell for a program that is just being written, such as by an update. */
const BUSY = /text file busy/i;

/**
 * Whether another attempt would fail in the same way (talk.md, "Bad news"): there is no such program, it may not be
 * executed, it cannot work as it is configured, no answer can be checked, or the asker may not. A momentary refusal
 * of the system, such as for a process too many, is not permanent. A prompt that was too long is tried once more,
 * with half of its thread.
 *
 * @param before the letter of the attempt before this one
 */
export function isPermanent(
  { failure, result }: FailedJob,
  before: Pick<DeadLetter, 'reason'> | undefined,
): boolean {
  if (failure.reason === 'prompt_too_long') return before?.reason === failure.reason;
  if (['misconfigured', 'bad_schema', 'not_accepted'].includes(failure.reason)) return true;
  const isBusy = result.startError !== undefined || BUSY.test(result.stderrTail);
  return failure.reason === 'not_started' && !isBusy;
}

/**
 * Returns the tiers that may handle a batch, in the order in which they are tried (bills.md, "Fallback"); empty for
 * an actor that is not served.
 *
 * @param requested the tiers that its messages request
 * @param letter if it failed before: then the tiers it was asked for count
 */
export function tiersFor(
  tiers: readonly Tier[],
  requested: readonly (string | undefined)[],
  letter?: DeadLetter,
): Tier[] {
  const names = letter === undefined ? requested : [letter.tier_asked ?? letter.tier];
  const asked = chooseTier(tiers, names);
  return asked === undefined ? [] : tiersFrom(tiers, asked);
}

/** Returns the tiers in which a delivery has not failed too often; at least the last one. */
export function untriedTiers(order: readonly Tier[], letter: DeadLetter | undefined): Tier[] {
  const failures = failuresOf(order, letter);
  const left = order.filter((tier) => failuresIn(failures, tier) < failuresAllowed(order, tier));
  return left.length > 0 ? left : order.slice(-1);
}

/** Step after a failure: the next attempt, if there is one. */
interface After {
  /** By tier. */
  failures: Record<string, number>;
  /** Number of failures of the next attempt's tier. */
  next?: { failures: number };
}

/**
 * @param isHopeless whether another attempt in the same tier would fail as this one did
 * @param elsewhere number of failed attempts on all hosts before
 */
export function afterFailure(
  { tier, tiers }: Pick<Job, 'tier' | 'tiers'>,
  previous: DeadLetter | undefined,
  isHopeless: boolean,
  reason: DeadLetter['reason'],
  elsewhere = 0,
): After {
  const before = failuresOf(tiers, previous);
  const counted = Math.max(failuresIn(before, tier), elsewhere) + 1;
  const most = failuresAllowed(tiers, tier);
  const failures = { ...before, [tier.name]: isHopeless ? Math.max(counted, most) : counted };
  // A problem of a schema exists in every tier, and an asker whom one tier refuses is not admitted by another.
  if (isHopeless && ['bad_schema', 'not_accepted'].includes(reason)) return { failures };
  const next = tiers.find((one) => failuresIn(failures, one) < failuresAllowed(tiers, one));
  // A first attempt in another tier follows as soon as a first retry does.
  return next === undefined
    ? { failures }
    : { failures, next: { failures: Math.max(1, failuresIn(failures, next)) } };
}

/**
 * Returns the failures by tier; a letter of a delivery that had no fallback counts for the tier in which it was
 * tried.
 */
function failuresOf(
  order: readonly Tier[],
  letter: DeadLetter | undefined,
): Record<string, number> {
  if (letter === undefined) return {};
  const { failures, tier, attempts_since_release: made } = letter;
  const isCounted = failures !== undefined && order.length > 1;
  return isCounted ? { ...failures } : { [tier]: made };
}

/** Returns the failures in a tier, which may have a name that every object has, such as `constructor`. */
function failuresIn(failures: Record<string, number>, { name }: Pick<Tier, 'name'>): number {
  return Object.hasOwn(failures, name) ? (failures[name] ?? 0) : 0;
}
