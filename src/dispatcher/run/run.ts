import type { Engine } from './engine.ts';
import { type Job, type JobResult, asItsCliSays, untriedTiers } from './job.ts';
import { outcomeOf } from '../../runner/outcome.ts';
import type { InvocationResult, RunningCli } from '../../runner/runner.ts';
import { CrosstalkError } from '../../errors.ts';
import { type BranchOnRecord, endsByItself } from '../../protocol/text/words.ts';
import { MAX_STEPS } from '../../protocol/causality.ts';
import { messageFile, placeOfRef } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES, type Located } from '../../protocol/message.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { ledBy } from '../../protocol/automation/follow-up.ts';
import { usageOfBoth, type Usage } from '../../protocol/usage.ts';
import { threadRoot, MAX_BATCH_BYTES } from '../../protocol/thread.ts';
import { refusedOf } from './admission.ts';
import { brief, type Briefing, peopleWhoWait, whileHeld } from './briefing.ts';
import { ThreadStart } from '../../bus/thread-start.ts';
import { cannotPlan } from './plan.ts';
import { promptOf } from './prompt-of.ts';
import type { CountedFor } from '../../protocol/automation/fields.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { bill, endingOf, type Ran } from './bill.ts';
import {
  conclude,
  failed,
  hasAnswered,
  isAnsweredAnywhere,
  isCancelled,
  stillAwaits,
  untoldCancel,
} from './conclude.ts';
import { permitOf, permittingOf } from './permitting.ts';
import { refusedIfSo } from './refusals.ts';
import { confinedAs, NOTHING_RAN, prepare, runIn, unlessConfined } from './cli.ts';
import { answersOf, stillOpen } from '../intake/still-open.ts';
import { serversForRun } from '../staging/mcp-servers.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import { inSession } from '../sessions/turn.ts';
import { insist } from './record.ts';
import { workplaceOf, type Workplace } from './workplace.ts';
import { branchBefore, bringBack, leaveWorktree, openWorktree } from './worktree.ts';
import { answerMessages } from '../../protocol/reply.ts';
import type { Allowed, Spent } from './budgets.ts';
import { steeringPrompt } from '../../protocol/prompt/prompt.ts';
import { inLine } from '../../protocol/text/structure.ts';
import type { Tell } from '../steering/run-steering.ts';

/**
 * Runs an actor's CLI on a batch and returns the result. It writes nothing except the run record.
 *
 * @param letter of the attempt that failed before, if this is another one
 */
export async function runJob(
  engine: Engine,
  job: Job,
  letter: DeadLetter | undefined,
): Promise<JobResult> {
  let begun = engine.now();
  let ran: Ran | undefined;
  let ended: JobResult | undefined;
  let used: Usage | undefined;
  try {
    for (;;) {
      const came = await runCli(engine, job, letter, { used, onRan: (made) => (ran = made) });
      if (came.kind !== 'again') {
        ended = withSteered(judged(engine, job, came), job);
        return ended;
      }
      // Its agent was ended, as it received a message: its usage is on the bill, and it is not a failure.
      if (ran !== undefined) await bill(engine, job, begun, ran, undefined);
      used = usageOfBoth(used, ran?.result.usage);
      [begun, ran] = [engine.now(), undefined];
      await engine.sessions.over(job.id, undefined);
    }
  } finally {
    await job.steering?.pause();
    await job.steering?.close();
    const reason = ended?.kind === 'failed' ? ended.failure.reason : undefined;
    engine.transcribing.end(job.id, endingOf(ended), reason);
    if (ran !== undefined) await bill(engine, job, begun, ran, ended);
  }
}

/** Result of a run whose agent was ended so that it can start again, with all of its messages. */
const AGAIN = { kind: 'again' } as const;

interface Runs {
  /** Usage before it was started again. */
  used: Usage | undefined;
  /** Called once the CLI has come to its end. */
  onRan: (ran: Ran) => void;
}

/** Returns the outcome of a job, as its CLI states it. */
function judged(engine: Engine, job: Job, ended: JobResult): JobResult {
  // It was cancelled while it came to its end: its asker receives that, and nothing else.
  if (job.cancel.aborted && ended.kind !== 'gone') return { kind: 'stopped' };
  if (ended.kind !== 'failed') return ended;
  const failure = refusedIfSo(job.tier.cli, ended, engine.now(), engine.zone);
  return failure.kind === 'failed' ? asItsCliSays(job.tier.cli, failure) : failure;
}

async function runCli(
  engine: Engine,
  job: Job,
  letter: DeadLetter | undefined,
  { used, onRan }: Runs,
): Promise<JobResult | typeof AGAIN> {
  const briefing = await brief(engine, job);
  if (briefing.unread.length > 0) return { kind: 'unread', messages: briefing.unread };
  const { absent } = briefing;
  if (briefing.batch.length === 0) return { kind: 'gone', absent };
  if ((job.released || job.isRest) && (await isAnswered(engine, job, briefing.batch)))
    return { kind: 'gone' };
  if (isCancelled(job.actor, briefing)) {
    const cancel = job.claims === undefined ? undefined : untoldCancel(job.actor, briefing);
    return { kind: 'gone', ...(cancel && { cancel }) };
  }
  if (job.isDealt && hasAnswered(job.actor, briefing)) return { kind: 'gone' };
  if (job.claims !== undefined && isAnsweredAnywhere(job.actor, briefing)) return { kind: 'gone' };
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
  const turnedAway = await refusedOf(engine, job, briefing);
  if (turnedAway !== undefined) {
    const ended = failed(NOTHING_RAN, 'not_accepted', turnedAway.why);
    return ended.kind === 'failed'
      ? { ...ended, failure: { ...ended.failure, only: turnedAway.messages } }
      : ended;
  }
  const { actor, channel } = job;
  const root = placeOfRef(channel, threadRoot(briefing.batch, briefing.lookup));
  const thread = { channel: root.channel, root: root.relPath };
  const allowed = await engine.guards.budgets.begin(job, root);
  if (allowed.kind !== 'free') {
    const others = untriedTiers(job.tiers, letter).filter(({ name }) => name !== job.tier.name);
    const isLast = others.every(
      (tier) => engine.guards.isHeld(tier) || engine.guards.budgets.holdOf(job, tier) !== undefined,
    );
    return overBudget(engine, job, isLast ? briefing : undefined, allowed);
  }
  const tools = await serversForRun(engine, engine.hosts.active, job);
  if ('missing' in tools)
    return { kind: 'parked', detail: tools.missing, reason: 'missing_secret' };
  const place = await placeOf(engine, job, briefing, thread);
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
      runIn(engine, job, place, {
        input: (files, runDir) =>
          promptOf(engine, job, about.briefing, { place, files, runDir, letter, turn, told }),
        batch: about.briefing.batch,
        maxOutput,
        thread: root,
        counted,
        rest: allowed.rest,
        handed: allowed.handed,
        tools,
        tell: (cli) => tellerOf(engine, job, about, cli),
        ...(asking && { permitting: permittingOf(engine, job, briefing, root, asking.flags) }),
        ...(turn && { turn }),
      });
    const made = await unlessConfined(inSession(engine, job, about, run));
    if ('kind' in made) return made;
    result = made;
    // It is on the bill, whatever the outcome of its remains.
    onRan({ result, thread: root, counted, handed: allowed.handed });
    const isAgain = await job.steering?.end(result.aborted);
    if (isAgain === true && !job.cancel.aborted && !engine.stop.signal.aborted) return AGAIN;
    if (place.copy !== undefined)
      branch = await bringBack(engine, place.copy, job.tier, engine.stop.signal);
    if (place.workspace)
      await engine.workspaces
        .touch(place.dir, { actor, ...thread }, engine.now())
        .catch(() => undefined);
  } finally {
    if (place.copy === undefined) engine.workspaces.leave(place.dir);
    else await leaveWorktree(engine, place.copy);
  }
  const outcome = outcomeOf(result, { timeout: job.tier.timeout, maxOutput });
  if (outcome.kind === 'stopped') return { kind: 'stopped' };
  if (outcome.kind === 'failed') return { kind: 'failed', failure: outcome, result };
  const usage = usageOfBoth(used, result.usage);
  const whole = usage === undefined ? result : { ...result, usage };
  // The run is paid for: a failing disk or git repeats the look at it, not the run.
  const concluded = await insist(engine, job.id, () =>
    conclude(engine, job, about.briefing, outcome, whole),
  );
  return branch === undefined ? concluded : withBranch(concluded, branch);
}

/** Adds the branch on which their run worked to its answers. */
function withBranch(ended: JobResult, branch: BranchOnRecord): JobResult {
  if (ended.kind !== 'answered') return ended;
  const answers = ended.answers.map(({ channel, message }) => ({
    channel,
    message: { ...message, branch },
  }));
  return { ...ended, answers };
}

/** Returns the folder in which a run works, or its result if it ended before the start. */
async function placeOf(
  engine: Engine,
  job: Job,
  briefing: Briefing,
  thread: { channel: string; root: string },
): Promise<Workplace | JobResult> {
  const { actor, host, tier, cancel } = job;
  try {
    if (tier.worktree === undefined) return await workplaceOf(engine, { actor, tier, thread });
    const opened = await openWorktree(
      engine,
      { actor, tier, thread, preferred: branchBefore(actor, host, briefing) },
      (command, dir) => prepare(engine, job, command, dir),
      AbortSignal.any([engine.stop.signal, cancel]),
    );
    if (opened.ok) return { dir: opened.place.tree.dir, workspace: false, copy: opened.place };
    const { result, detail } = opened;
    return result.aborted ? { kind: 'stopped' } : failed(result, 'before_failed', detail);
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    if (error.code === 'aborted') return { kind: 'stopped' };
    const unconfined = confinedAs(error);
    if (unconfined !== undefined) return unconfined;
    // It is tried again by the clock, as with everything that a full disk keeps from starting.
    if (error.data['kind'] === 'no_space') throw error;
    return failed(NOTHING_RAN, 'bad_workdir', error.message);
  }
}

/**
 * Whether a job is answered already. A dead letter may be older than the answer, if the state was restored or on a
 * first scan. The notice of its failure is not an answer.
 */
async function isAnswered(engine: Engine, job: Job, batch: readonly Located[]): Promise<boolean> {
  const { transport } = engine;
  const paths = batch.map(({ relPath }) => relPath).sort();
  const files = paths.map((relPath) => messageFile(job.channel, relPath));
  const begun = new ThreadStart(transport, job.tip, paths[0] ?? '', files);
  const ownOf = await answersOf(
    engine,
    { ...job, actors: new Set([job.actor]), counts: isAnswer },
    begun,
  );
  return (await stillOpen(engine, job, batch, ownOf(job.actor))).size === 0;
}

/**
 * Returns the result of a run that may not start: its mail waits, and people who asked for it are notified once.
 *
 * @param briefing undefined if another tier takes the mail, so that nobody has to be notified
 */
function overBudget(
  engine: Engine,
  job: Job,
  briefing: Briefing | undefined,
  allowed: Exclude<Allowed, { kind: 'free' }>,
): JobResult {
  if (allowed.kind === 'later') return { kind: 'over_budget', tell: [], told: [] };
  const { reason, said, until } = allowed;
  const spent = { reason, said, until };
  if (briefing === undefined) return { kind: 'over_budget', spent, tell: [], told: [] };
  const plans = peopleWhoWait(job.actor, briefing)
    .map((plan) => ({ plan, key: `${job.actor} ${job.channel} ${plan.re.join(' ')}` }))
    .filter(({ key }) => !engine.guards.budgets.isTold(key));
  const writer = { actor: job.actor, host: job.host, at: engine.now() };
  const body = waitingText(job, allowed);
  const tell = answerMessages(
    plans.map(({ plan }) => plan),
    briefing.batch,
    body,
    writer,
    job.channel,
  ).map((note) => whileHeld(note, 'budget'));
  return {
    kind: 'over_budget',
    spent,
    tell,
    told: plans.map(({ key }) => key),
  };
}

function waitingText({ actor, host }: Job, { reason, said, until }: Spent): string {
  const go = `when somebody on ${host} calls: crosstalk resume --for ${actor}`;
  const when = endsByItself(reason) ? `at ${until}, or ${go}` : go;
  return `${actor} on ${host} has not begun: ${said}. It goes on ${when}\n`;
}

/** Most characters that a transcript shows of a message to a run. */
const MOST_SHOWN = 500;

/**
 * Makes the writer of messages to a running agent, which came while it was at work. The message is one with which the
 * run might have started: the limits of its tier's askers, of the size of a run and of its starts apply to it too. An
 * agent that receives a message often starts again, so it counts as a start.
 *
 * @param about `briefing` is that of the run with all of its messages; `isLimited`: whether a budget applies to it
 */
function tellerOf(
  engine: Engine,
  job: Job,
  about: { briefing: Briefing; isLimited: boolean },
  cli: RunningCli,
): Tell {
  return async (message) => {
    const briefing = await brief(engine, job);
    const added = briefing.batch.find(({ relPath }) => relPath === message);
    if (added === undefined || briefing.unread.length > 0)
      return { no: 'it cannot be read in this clone' };
    if (briefing.cancelled.has(message)) return { no: 'it was taken back' };
    const turnedAway = await refusedOf(engine, job, { ...briefing, batch: [added] });
    if (turnedAway !== undefined) return { no: turnedAway.why };
    // A message to a run costs more, and nothing limits how much: a run receives the rest of a budget once.
    if (about.isLimited)
      return { no: 'its tier has a budget, from which each run is paid by itself' };
    const bytes = briefing.batch.reduce(
      (sum, { message: { body } }) => sum + Buffer.byteLength(body),
      0,
    );
    if (bytes > MAX_BATCH_BYTES)
      return { no: 'the run has been given as much as one run is given' };
    if (!(await engine.guards.mayTell(job)))
      return { no: 'its tier may not start anything just now' };
    const { batch, plans: answers } = briefing;
    const words = steeringPrompt({ word: engine.secret(8), added, batch, answers });
    const { from, body } = added.message;
    engine.transcribing.tell(job.id, `${from}, meanwhile: ${inLine(body).slice(0, MOST_SHOWN)}`);
    if (cli.steer === undefined) {
      // A process for one prompt cannot receive messages.
      cli.cancel();
      await engine.guards.told(job);
      return 'ended';
    }
    const reached = await cli.steer(words);
    if (reached === 'late') return reached;
    await engine.guards.told(job);
    if (reached !== 'ended') about.briefing = briefing;
    return reached;
  };
}

/** Marks the answers that take in later messages of their run. */
function withSteered(ended: JobResult, { steering }: Job): JobResult {
  const taken = steering?.taken ?? [];
  if (ended.kind !== 'answered' || taken.length === 0) return ended;
  const answers = ended.answers.map(({ channel, message }) => {
    const steered = taken.filter((one) => message.re.includes(one.message));
    return { channel, message: { ...message, ...(steered.length > 0 && { steered }) } };
  });
  return { ...ended, answers };
}
