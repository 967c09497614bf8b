import type { Engine } from './engine.ts';
import { plainCall } from '../../agents/output/plain-call.ts';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import type { Handed } from '../../protocol/usage.ts';
import type { CountedFor } from '../../protocol/automation/fields.ts';
import type { LedgerLine, RunEnding } from '../../state/bills/ledger.ts';
import type { RunRecord } from '../../state/runs.ts';
import { usageSince } from '../sessions/sessions.ts';
import type { Job, JobResult } from './job.ts';
import { readLeftOutput } from './output.ts';

/** A run that was made. */
export interface Ran {
  result: InvocationResult;
  /** The first message of its thread. */
  thread: MessageRef;
  counted: CountedFor;
  /** Amount that it might use at most, as far as a budget limits it. */
  handed: Handed | undefined;
}

/**
 * Puts a run on the bill of this machine, whatever its outcome, before that is recorded.
 *
 * @param ended undefined if its output could not be processed, so that the run is repeated
 */
export async function bill(
  engine: Engine,
  job: Job,
  begun: Date,
  { result, thread, counted, handed }: Ran,
  ended: JobResult | undefined,
): Promise<void> {
  const { id, actor, host, channel, tier } = job;
  const agent = plainCall(tier.cli)?.agent;
  await write(engine, {
    at: begun.toISOString(),
    ...{ id, actor, host, channel, tier: tier.name, thread, ...counted },
    ended: endingOf(ended),
    ...(ended?.kind === 'failed' && { reason: ended.failure.reason }),
    ...(agent !== undefined && { agent }),
    ms: result.duration,
    ...(result.sessionKind && { session: result.sessionKind }),
    ...(result.usage && { usage: result.usage }),
    ...handedOf(handed, result),
  });
  passed('ledger_written');
}

/** Puts a run on the bill that a dead dispatcher left, unless it is there. */
export async function billStaleRun(engine: Engine, run: RunRecord): Promise<void> {
  const { id, actor, host, channel, tier, thread, agent, since, skills, subscription } = run;
  const { session, before, desk, handed } = run;
  // Earlier versions have written no more of a run.
  if (host === undefined || tier === undefined || thread === undefined || since === undefined)
    return;
  // A ledger that cannot be read must not keep the dispatcher from starting.
  if (await engine.ledger.has(id, since).catch(() => false)) return;
  const { usage: total } =
    agent === undefined
      ? {}
      : await readLeftOutput(desk === undefined ? agent : 'acp', engine.runs.outputPath(id));
  const usage = total && (usageSince(total, before) ?? total);
  const ms = Math.max(0, engine.now().getTime() - Date.parse(since));
  await write(engine, {
    at: since,
    ...{ id, actor, host, channel, tier, thread },
    ...(skills !== undefined && { skills }),
    ...(subscription !== undefined && { subscription }),
    ended: 'interrupted',
    ...(agent !== undefined && { agent }),
    ms,
    ...(session && { session }),
    ...(usage && { usage }),
    // It was ended, and nobody saw how.
    ...(handed && { handed, presumed: true }),
  });
}

/** From here on an exit code stands for a signal that ended the program of a shell. */
const BY_SIGNAL = 128;

/** Returns the amount that was reserved for a run; nothing for one that never got to its model. */
function handedOf(
  handed: Handed | undefined,
  result: InvocationResult,
): Pick<LedgerLine, 'handed' | 'presumed'> {
  if (handed === undefined) return {};
  if (!isStated(result)) return { handed, presumed: true };
  return result.usage === undefined ? {} : { handed };
}

/**
 * Whether a run has stated all of its usage. Its CLI has to have ended on its own, with complete output: a statement
 * printed before it is cancelled, killed or cut off covers only a part of its usage.
 */
function isStated({ raw, reported, usage, ...result }: InvocationResult): boolean {
  const { exitCode, timedOut, aborted, tooMuchOutput, startError, unsent, isFinal } = result;
  if (startError !== undefined || unsent === true) return true;
  if (aborted || timedOut || tooMuchOutput || exitCode === null) return false;
  if (exitCode >= BY_SIGNAL || isFinal !== true) return false;
  // An error before the model was asked; a program that prints no JSON may have asked it.
  return usage !== undefined || reported !== undefined || (exitCode !== 0 && raw?.bytes === 0);
}

async function write({ ledger, log }: Engine, line: LedgerLine): Promise<void> {
  await ledger.add(line).catch((error: unknown) => {
    log('internal_error', { error: `the ledger: ${reasonOf(error)}` });
  });
}

/** Returns the ending of a run, in one word. */
export function endingOf(ended: JobResult | undefined): RunEnding {
  if (ended === undefined) return 'interrupted';
  const { kind } = ended;
  if (kind === 'planned') return 'answered';
  return kind === 'gone' ||
    kind === 'taken' ||
    kind === 'unread' ||
    kind === 'parked' ||
    kind === 'over_budget'
    ? 'interrupted'
    : kind;
}
