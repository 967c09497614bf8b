import type { CliOutcome } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import type { Refusal } from '../../agents/refusal.ts';
import type { Placed } from '../../protocol/reply.ts';
import type { LogFields } from '../../log.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Gate } from '../../state/gates.ts';
import type { Spent } from './budgets.ts';
import type { RunSteering } from '../steering/run-steering.ts';

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
  /** Aborted when what it is for was taken back. */
  cancel: AbortSignal;
  /** What it is told while it is under way; absent where its tier keeps no process. */
  steering?: RunSteering;
}

/** Why mail is parked, but for the depth of its thread. */
export type ParkedFor = 'no_planning' | 'missing_secret' | 'no_sandbox';

/**
 * How a job ended. `answers` are complete messages, one per asker, with their destination;
 * `lacking` are paths of messages that were missing; `absent` are those of the batch that did not
 * exist at its tip.
 */
export type JobResult =
  | {
      kind: 'answered';
      answers: Placed[];
      result: InvocationResult;
      lacking: string[];
      absent?: string[];
    }
  | { kind: 'silent'; result: InvocationResult; lacking: string[]; absent?: string[] }
  | { kind: 'stopped' }
  | { kind: 'gone'; absent?: string[] }
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
   * Nothing ran, because a budget is spent, or likely to be by the runs under way (`spent` is absent).
   * `tell` goes to askers, which are remembered by the keys in `told`.
   */
  | { kind: 'over_budget'; spent?: Spent; tell: Placed[]; told: string[] }
  /** The CLI may not work at the moment, which is not a failure. */
  | { kind: 'refused'; refusal: Refusal; result: InvocationResult }
  | { kind: 'failed'; failure: CliOutcome & { kind: 'failed' }; result: InvocationResult };

/** What the log says of a job that starts. */
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
