import type { Engine } from './engine.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { putOutcome, type Outcome } from '../../state/outcomes/kept-outcomes.ts';
import { cancelledLetters, failedLetters, parkedLetter, postponed, sayFailed } from './letters.ts';
import { eachInTurn } from '../../wait.ts';
import { sayFired, type FollowUp } from '../automation/subscriptions.ts';
import { fenced, type Ending, type OwnClaim } from '../pools/fence.ts';
import type { Placed } from '../../protocol/reply.ts';
import type { Job, JobResult } from './job.ts';
import { recordPlan } from './plan.ts';
import { messageFile, refFrom } from '../../protocol/layout.ts';
import type { OutboxEntry } from '../../state/outbox.ts';

/**
 * Remaining work to wait for after an outcome was recorded; wrapped in an object, as `await` would resolve a bare
 * promise.
 */
export interface Recorded {
  push?: Promise<void>;
  /** The paths of the answer's files. */
  answers?: string[];
}

/**
 * Records the outcome of a run. The order of the steps, for a crash between any two of them: outbox
 * entry or dead letters on disk → run record removed → (push) → outbox entry removed and its delivery
 * on record as settled, in one step → mailbox left, cursors saved. Until the first step is done the run counts as never made and is repeated;
 * after it, the run is never repeated.
 *
 * A run has been paid for, so its outcome is not given up because the disk is full at this moment:
 * the first step is tried until it succeeds. A later failure is reported and left to the next
 * start, and the messages do not go back to their mailbox.
 *
 * @throws only when the first step is not done by the time the dispatcher must end; {@link record}
 */
export async function recordRun(
  engine: Engine,
  job: Job,
  outcome: JobResult,
  letter: DeadLetter | undefined,
): Promise<Recorded> {
  const pushes: Promise<void>[] = [];
  const recorded = await recordOutcome(engine, job, outcome, letter, pushes);
  const { push } = recorded;
  if (pushes.length === 0) return recorded;
  return { ...recorded, push: Promise.all([push, ...pushes]).then(() => undefined) };
}

/** @param pushes receives those of claims' ends */
async function recordOutcome(
  engine: Engine,
  job: Job,
  outcome: JobResult,
  letter: DeadLetter | undefined,
  pushes: Promise<void>[],
): Promise<Recorded> {
  const { actor, channel, messages } = job;
  const { mailboxes } = engine.deliveries;
  const facts = { id: job.id, actor, channel, tier: job.tier.name, messages };
  const noted = (error: unknown): void => {
    engine.log('internal_error', { id: job.id, error: reasonOf(error) });
  };
  const afterwards = (...steps: (() => Promise<unknown>)[]): Promise<void> =>
    eachInTurn(steps, noted);
  const ended = async (): Promise<void> => {
    // Once its record is gone, no later start would put the run on the bill.
    await engine.ledger.flush().catch(noted);
    await engine.runs.end(job.id);
    await engine.interruptions.clear(actor, channel, messages);
  };
  const claims = job.claims ?? [];
  /** Ends the claims of the job alone; before its record, as a crash in between repeats both. */
  const release = async (ending: Ending | 'waits'): Promise<void> => {
    const done = await engine.pools.leases.end(claims, () => ending).catch(noted);
    if (done?.push !== undefined) pushes.push(done.push);
  };
  const settled = (): Promise<void> => engine.deliveries.settle(actor, channel, messages);
  // Nothing ran, so nothing of it is stored.
  const put = (failure: DeadLetter[], claim?: Claimed) => () =>
    putOutcome(engine, { failure, ...claim });
  switch (outcome.kind) {
    case 'answered': {
      const made = await insist(engine, job.id, () =>
        answerEntry(engine, job, outcome.answers, letter),
      );
      const endingOf = (claim: OwnClaim): Ending | 'waits' =>
        isAnswered(claim, outcome.answers) ? { end: 'answered' } : 'waits';
      const step = engine.pools.leases.closing(claims, endingOf);
      const entry = { ...made, entry: fenced(made.entry, step) };
      await record(engine, job.id, { answer: entry.entry });
      engine.publisher.expected.add(entry.entry);
      await engine.pools.leases.over(claims, endingOf).catch(noted);
      passed('output_recorded');
      engine.log('reply_queued', { ...facts, replies: entry.relPaths });
      for (const task of entry.tasks) sayFired(engine.log, task);
      await afterwards(ended);
      passed('run_removed');
      return {
        answers: entry.paths,
        push: publishAnswer(engine, entry, { ...facts, duration_ms: outcome.result.duration }),
      };
    }
    case 'gone': {
      const { cancel } = outcome;
      if (cancel !== undefined) {
        const told = cancelledLetters(engine, { actor, channel, messages }, cancel, letter);
        const ending = { end: 'cancelled' } as const;
        const failure = [told.letter, ...(told.rest === undefined ? [] : [told.rest])];
        await record(engine, job.id, { failure, ...closed(engine, claims, ending) });
        await engine.pools.leases.over(claims, () => ending).catch(noted);
        engine.log('cancelled', { id: told.letter.id, actor, channel, messages, ended: 0 });
        await afterwards(settled, ended);
        return {};
      }
      const isAbsent = (outcome.absent ?? []).length > 0;
      await release({ end: isAbsent ? 'released' : 'silent' });
      const forgotten = async () => letter && engine.deadLetters.remove(letter.id);
      // A missing message may come back, so do not record that the actor is done with it.
      await afterwards(() => engine.deliveries.leave(actor, channel, messages), forgotten, ended);
      return {};
    }
    case 'silent': {
      const silence = { actor, channel, messages };
      await release(outcome.waits === true ? 'waits' : { end: 'silent' });
      await record(engine, job.id, { silence, ...(letter && { letter: letter.id }) });
      await afterwards(settled, ended);
      engine.log('dispatch_silent', { ...facts, ...stderrOf(outcome.result) });
      const { duration } = outcome.result;
      engine.log('dispatch_done', { ...facts, replied: false, duration_ms: duration });
      return {};
    }
    case 'unread':
      await release({ end: 'released' });
      engine.log('dispatch_held', { ...facts, unread: outcome.messages });
      if (letter !== undefined) await insist(engine, job.id, put([postponed(engine, letter)]));
      mailboxes.awaitContent(actor, channel, outcome.messages);
      mailboxes.giveBack(actor, channel, messages);
      return {};
    case 'parked': {
      const parked = parkedLetter(engine, job, outcome);
      await insist(engine, job.id, put([parked], closed(engine, claims, { end: 'held' })));
      await engine.pools.leases.over(claims, () => ({ end: 'held' })).catch(noted);
      const { id, reason, detail } = parked;
      engine.log('parked', { id, actor, channel, messages, reason, detail });
      await afterwards(settled);
      return {};
    }
    case 'planned': {
      const entry = await recordPlan(engine, job, outcome, (plan) =>
        record(engine, job.id, { plan }),
      );
      await release('waits');
      mailboxes.giveBack(actor, channel, messages);
      await afterwards(ended);
      return { push: engine.publisher.publish(entry).then(() => undefined) };
    }
    case 'over_budget': {
      const { spent, tell, told } = outcome;
      const pushes: Promise<unknown>[] = [];
      if (tell.length > 0) {
        const commits = tell.map(
          ({ message, channel: to }) => outgoing(message, to, job.host, engine.suffix()).commit,
        );
        const entry = { id: engine.newId(), commits };
        await insist(engine, job.id, () => engine.outbox.put(entry));
        pushes.push(engine.publisher.publish(entry.id));
      }
      const held =
        spent && engine.guards.budgets.hold(job, spent, { told, letter: letter?.id }).catch(noted);
      await release({ end: 'released' });
      if (spent !== undefined) engine.log('parked', { ...facts, ...spent });
      mailboxes.giveBack(actor, channel, messages);
      await held;
      await afterwards(ended);
      return { push: Promise.all(pushes).then(() => undefined) };
    }
    case 'taken': {
      // A retry is looked at again; the letter of what another host has answered is of no use.
      const forgotten = async () => letter && engine.deadLetters.remove(letter.id);
      const later = async () => letter && engine.deadLetters.put(postponed(engine, letter));
      if (!outcome.isOver) mailboxes.giveBack(actor, channel, messages);
      await afterwards(...(outcome.isOver ? [settled, forgotten] : [later]), ended);
      return {};
    }
    case 'stopped':
    case 'refused':
      await release({ end: 'released' });
      mailboxes.giveBack(actor, channel, messages); // A refused retry's letter stays due and held.
      await afterwards(ended);
      return {};
    case 'failed': {
      const { failure, result } = outcome;
      const { reason, detail } = failure;
      engine.log('dispatch_failed', { ...facts, reason, detail, duration_ms: result.duration });
      const letters = failedLetters(engine, job, outcome, letter);
      const next = letters.find(({ state }) => state === 'retrying')?.next_retry_at;
      const isLast = next === undefined;
      if (!isLast) await release({ end: 'released', attempted: true, notBefore: next });
      const ending = isLast ? closed(engine, claims, { end: 'failed' }) : {};
      await record(engine, job.id, { failure: letters, ...ending });
      if (isLast) await engine.pools.leases.over(claims, () => ({ end: 'failed' })).catch(noted);
      for (const written of letters) sayFailed(engine.log, written);
      // A delivery that is tried again is not settled: it may be off the bus by then, and come back.
      const isOver = letters.every(({ state }) => state !== 'retrying');
      await afterwards(isOver ? settled : () => engine.deliveries.leave(actor, channel, messages));
      passed('letter_settled');
      await afterwards(ended);
      return {};
    }
  }
}

/** Whether answers settle a claimed message, not just in the meantime. */
function isAnswered({ channel, relPath }: OwnClaim, answers: readonly Placed[]): boolean {
  return answers.some(
    ({ channel: home, message: { re, interim } }) =>
      interim !== true && re.includes(refFrom(home, channel, relPath)),
  );
}

type Claimed = Pick<Extract<Outcome, { failure: unknown }>, 'claim'>;

/** Returns what the notice about a letter publishes for the claims of its run. */
function closed(engine: Engine, claims: readonly OwnClaim[], ending: Ending): Claimed {
  return claims.length === 0 ? {} : { claim: engine.pools.leases.closing(claims, () => ending) };
}

/** Thrown when the dispatcher ends, so that the next one finds the results of a run that the state has not taken. */
export class Kept extends Error {
  override readonly name = 'Kept';
}

/**
 * Puts an outcome on record, however often the state refuses it.
 *
 * @throws Kept where the dispatcher must end before; the error of the state where nothing else takes it either
 */
async function record(engine: Engine, id: string, outcome: Outcome): Promise<void> {
  try {
    await insist(engine, id, () => putOutcome(engine, outcome));
  } catch (error) {
    const path = await engine.kept.keep(id, outcome);
    if (path === undefined) throw error;
    engine.log('outcome_kept', { id, path, reason: reasonOf(error) });
    throw new Kept('it is kept for the next start', { cause: error });
  }
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** Repeats a step until it succeeds: its input has been paid for and exists nowhere else. */
export async function insist<T>(
  engine: Pick<Engine, 'unrecorded' | 'stop' | 'log'>,
  id: string,
  step: () => Promise<T>,
): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    try {
      const done = await step();
      engine.unrecorded.over(id);
      return done;
    } catch (error) {
      if (engine.stop.signal.aborted) throw error;
      const reason = reasonOf(error);
      engine.unrecorded.note(id, reason);
      engine.log('record_failed', { id, reason });
      await sleep(wait, undefined, { signal: engine.stop.signal }).catch(() => undefined);
    }
  }
}

async function publishAnswer(
  engine: Engine,
  { entry, relPaths }: AnswerEntry,
  facts: Record<string, unknown>,
): Promise<void> {
  const published = await engine.publisher.publish(entry.id);
  engine.log('dispatch_done', {
    ...facts,
    replied: true,
    replies: relPaths,
    published: published.published,
  });
}

/** Returns the stderr of a CLI with an empty answer, which often shows why it is empty. */
function stderrOf({ stderrTail }: InvocationResult): { stderr?: string } {
  const text = stderrTail.trim();
  return text === '' ? {} : { stderr: text.slice(-500) };
}

/** The answers of a run as they go into the outbox, with the tasks that follow on them. */
interface AnswerEntry {
  entry: OutboxEntry;
  /** Of the answers. */
  relPaths: string[];
  /** Of the answers' files. */
  paths: string[];
  tasks: FollowUp[];
}

/**
 * Makes one entry for the answers of a run and the tasks that subscriptions produce because of them: a crash leaves
 * both or neither.
 */
async function answerEntry(
  engine: Engine,
  { actor, channel, messages, host, tip }: Job,
  answers: Extract<JobResult, { kind: 'answered' }>['answers'],
  letter: DeadLetter | undefined,
): Promise<AnswerEntry> {
  const written = answers.map((answer) => ({
    ...answer,
    ...outgoing(answer.message, answer.channel, host, engine.suffix()),
  }));
  const tasks = await engine.subscriptions.after(host, tip, written, engine.stop.signal);
  return {
    relPaths: written.map(({ relPath }) => relPath),
    paths: written.map((one) => messageFile(one.channel, one.relPath)),
    tasks,
    entry: {
      id: engine.newId(),
      commits: [...written, ...tasks].map(({ commit }) => commit),
      delivery: {
        actor,
        channel,
        messages,
        ...(letter === undefined ? {} : { deadLetter: letter.id }),
      },
    },
  };
}
