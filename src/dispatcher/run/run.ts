import type { Job, JobResult, RunParts } from './job.ts';
import { outcomeOf } from '../../runner/outcome.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { CrosstalkError } from '../../errors.ts';
import type { BranchOnRecord } from '../../protocol/text/branch.ts';
import { MAX_STEPS } from '../../protocol/causality.ts';
import { messageFile } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES, type Located } from '../../protocol/message.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { ledBy } from '../../protocol/automation/follow-up.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import { usageOfBoth, type Usage } from '../../protocol/usage.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { unaccepted } from './acceptance.ts';
import { brief, type Briefing } from './briefing.ts';
import { Beginning } from '../../bus/beginning.ts';
import { cannotPlan } from './plan.ts';
import { promptOf } from './prompt-of.ts';
import type { CountedFor } from '../../protocol/automation/counted-for.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { bill, endingOf, type Ran } from './bill.ts';
import { conclude, failed, hasAnswered, isCancelled, stillAwaits } from './conclude.ts';
import { asItsCliSays } from './hopeless.ts';
import { overBudget } from './over-budget.ts';
import { permitOf, permittingOf } from './permitting.ts';
import { refusedIfSo } from './refusals.ts';
import { confinedAs, NOTHING_RAN, prepare, runIn, unlessConfined } from './cli.ts';
import { answersOf, stillOpen } from '../intake/still-open.ts';
import { serversForRun } from '../laying/mcp-servers.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import { inSession } from '../sessions/turn.ts';
import { insist } from './record.ts';
import { tellerOf, withSteered } from './steer.ts';
import { untriedTiers } from './tier-choice.ts';
import { workplaceOf, type Workplace } from './workplace.ts';
import { branchBefore, bringBack, leaveWorktree, openWorktree } from './worktree.ts';

/**
 * Runs an actor's CLI on a batch and returns the result. It writes nothing except the run record.
 *
 * @param letter of the attempt that failed before, if this is another one
 */
export async function runJob(
  parts: RunParts,
  job: Job,
  letter: DeadLetter | undefined,
): Promise<JobResult> {
  let begun = parts.now();
  let ran: Ran | undefined;
  let ended: JobResult | undefined;
  let used: Usage | undefined;
  try {
    for (;;) {
      const came = await runCli(parts, job, letter, { used, onRan: (made) => (ran = made) });
      if (came.kind !== 'again') {
        ended = withSteered(judged(parts, job, came), job);
        return ended;
      }
      // Its agent was ended, as it was told something: what it was is on the bill, and it is no failure.
      if (ran !== undefined) await bill(parts, job, begun, ran, undefined);
      used = usageOfBoth(used, ran?.result.usage);
      [begun, ran] = [parts.now(), undefined];
      await parts.sessions.over(job.id, undefined);
    }
  } finally {
    await job.steering?.pause();
    await job.steering?.close();
    const reason = ended?.kind === 'failed' ? ended.failure.reason : undefined;
    parts.transcribing.end(job.id, endingOf(ended), reason);
    if (ran !== undefined) await bill(parts, job, begun, ran, ended);
  }
}

/** A run whose agent was ended so that it can be begun again, with all that it was told. */
const AGAIN = { kind: 'again' } as const;

interface Runs {
  /** What it has used before it was begun again. */
  used: Usage | undefined;
  /** Called once the CLI has come to its end. */
  onRan: (ran: Ran) => void;
}

/** What came of a job, by what its CLI says of itself. */
function judged(parts: RunParts, job: Job, ended: JobResult): JobResult {
  // It was taken back while it came to its end: its asker is told that, and nothing else.
  if (job.cancel.aborted && ended.kind !== 'gone') return { kind: 'stopped' };
  if (ended.kind !== 'failed') return ended;
  const failure = refusedIfSo(job.tier.cli, ended, parts.now(), parts.zone);
  return failure.kind === 'failed' ? asItsCliSays(job.tier.cli, failure) : failure;
}

async function runCli(
  parts: RunParts,
  job: Job,
  letter: DeadLetter | undefined,
  { used, onRan }: Runs,
): Promise<JobResult | typeof AGAIN> {
  const briefing = await brief(parts, job);
  if (briefing.unread.length > 0) return { kind: 'unread', messages: briefing.unread };
  const { absent } = briefing;
  if (briefing.batch.length === 0) return { kind: 'gone', absent };
  if ((job.released || job.isRest) && (await isAnswered(parts, job, briefing.batch)))
    return { kind: 'gone' };
  if (isCancelled(job.actor, briefing)) return { kind: 'gone' };
  if (job.isDealt && hasAnswered(job.actor, briefing)) return { kind: 'gone' };
  // The peer that answers last completes the goal.
  if (job.isRest && stillAwaits(job.actor, briefing)) return { kind: 'gone' };
  // A chain is not followed beyond this limit: one of this depth may be of any depth.
  const isDeep = briefing.depth > Math.min(job.tier.maxDepth, MAX_STEPS - 1);
  if (!job.released && isDeep) {
    const detail = `the thread is ${String(briefing.depth)} messages deep, more than ${String(job.tier.maxDepth)}`;
    return { kind: 'parked', detail };
  }
  const unplanned = cannotPlan(job);
  if (unplanned !== undefined) return unplanned;
  const asking = permitOf(job);
  if (asking?.ok === false) return failed(NOTHING_RAN, 'misconfigured', asking.why);
  const turnedAway = await unaccepted(parts, job, briefing);
  if (turnedAway !== undefined) {
    const ended = failed(NOTHING_RAN, 'not_accepted', turnedAway.why);
    return ended.kind === 'failed'
      ? { ...ended, failure: { ...ended.failure, only: turnedAway.messages } }
      : ended;
  }
  const { actor, channel } = job;
  const root = placeOfRef(channel, threadRoot(briefing.batch, briefing.lookup));
  const thread = { channel: root.channel, root: root.relPath };
  const allowed = await parts.budgets.begin(job, root);
  if (allowed.kind !== 'free') {
    const others = untriedTiers(job.tiers, letter).filter(({ name }) => name !== job.tier.name);
    const isLast = others.every(
      (tier) => parts.isHeld(tier) || parts.budgets.holdOf(job, tier) !== undefined,
    );
    return overBudget(parts, job, isLast ? briefing : undefined, allowed);
  }
  const tools = await serversForRun(parts, job);
  if ('missing' in tools)
    return { kind: 'parked', detail: tools.missing, reason: 'missing_secret' };
  const place = await placeOf(parts, job, briefing, thread);
  if ('kind' in place) return place;
  const maxOutput = MAX_MESSAGE_BYTES;
  const subscription = ledBy(briefing.batch, briefing.lookup);
  const counted: CountedFor = subscription === undefined ? {} : { subscription };
  const told = (skills: string[]): void => void Object.assign(counted, { skills });
  let result: InvocationResult;
  let branch: BranchOnRecord | undefined;
  const isLimited = allowed.handed !== undefined;
  const about = { briefing, root, dir: place.dir, tools, isLimited };
  try {
    const run = (turn?: Turn) =>
      runIn(parts, job, place, {
        input: (files, runDir) =>
          promptOf(parts, job, about.briefing, { place, files, runDir, letter, turn, told }),
        batch: about.briefing.batch,
        maxOutput,
        thread: root,
        counted,
        rest: allowed.rest,
        handed: allowed.handed,
        tools,
        tell: (cli) => tellerOf(parts, job, about, cli),
        ...(asking && { permitting: permittingOf(parts, job, briefing, root, asking.flags) }),
        ...(turn && { turn }),
      });
    const made = await unlessConfined(inSession(parts, job, about, run));
    if ('kind' in made) return made;
    result = made;
    // Whatever comes of what it has left behind, it is on the bill.
    onRan({ result, thread: root, counted, handed: allowed.handed });
    const isAgain = await job.steering?.end(result.aborted);
    if (isAgain === true && !job.cancel.aborted && !parts.signal.aborted) return AGAIN;
    if (place.copy !== undefined)
      branch = await bringBack(parts, place.copy, job.tier, parts.signal);
    if (place.workspace)
      await parts.workspaces
        .touch(place.dir, { actor, ...thread }, parts.now())
        .catch(() => undefined);
  } finally {
    if (place.copy === undefined) parts.workspaces.leave(place.dir);
    else await leaveWorktree(parts, place.copy);
  }
  const outcome = outcomeOf(result, { timeout: job.tier.timeout, maxOutput });
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome, result };
  const usage = usageOfBoth(used, result.usage);
  const whole = usage === undefined ? result : { ...result, usage };
  // The run is paid for: a failing disk or git repeats the look at it, not the run.
  const concluded = await insist(parts, job.id, () =>
    conclude(parts, job, about.briefing, outcome, whole),
  );
  return branch === undefined ? concluded : withBranch(concluded, branch);
}

/** Answers tell of the branch on which their run worked. */
function withBranch(ended: JobResult, branch: BranchOnRecord): JobResult {
  if (ended.kind !== 'answered') return ended;
  const answers = ended.answers.map(({ channel, message }) => ({
    channel,
    message: { ...message, branch },
  }));
  return { ...ended, answers };
}

/** Where a run works, or how it ended before it began. */
async function placeOf(
  parts: RunParts,
  job: Job,
  briefing: Briefing,
  thread: { channel: string; root: string },
): Promise<Workplace | JobResult> {
  const { actor, host, tier, cancel } = job;
  try {
    if (tier.worktree === undefined) return await workplaceOf(parts, { actor, tier, thread });
    const opened = await openWorktree(
      parts,
      { actor, tier, thread, preferred: branchBefore(actor, host, briefing) },
      (command, dir) => prepare(parts, job, command, dir),
      AbortSignal.any([parts.signal, cancel]),
    );
    if (opened.ok) return { dir: opened.place.tree.dir, workspace: false, copy: opened.place };
    const { result, detail } = opened;
    return result.aborted ? { kind: 'stopped' } : failed(result, 'before_failed', detail);
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    if (error.code === 'aborted') return { kind: 'stopped' };
    const unconfined = confinedAs(error);
    if (unconfined !== undefined) return unconfined;
    // It is tried again by the clock, as with all that a full disk keeps from beginning.
    if (error.data['kind'] === 'no_space') throw error;
    return failed(NOTHING_RAN, 'bad_workdir', error.message);
  }
}

/**
 * A dead letter may be older than the answer, if the state was restored or on a first scan. The notice
 * of its failure is no answer.
 */
async function isAnswered(parts: RunParts, job: Job, batch: readonly Located[]): Promise<boolean> {
  const { transport } = parts;
  const paths = batch.map(({ relPath }) => relPath).sort();
  const files = paths.map((relPath) => messageFile(job.channel, relPath));
  const begun = new Beginning(transport, job.tip, paths[0] ?? '', files);
  const ownOf = await answersOf(
    parts,
    { ...job, actors: new Set([job.actor]), counts: isAnswer },
    begun,
  );
  return (await stillOpen(parts, job, batch, ownOf(job.actor))).size === 0;
}
