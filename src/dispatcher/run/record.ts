import { setTimeout as sleep } from 'node:timers/promises';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type { Log } from '../../log.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Interruptions } from '../../state/interruptions.ts';
import {
  type KeptOutcomes,
  putOutcome,
  type Outcome,
  type OutcomeParts,
} from '../../state/outcomes/kept-outcomes.ts';
import type { Ledger } from '../../state/bills/ledger.ts';
import type { Runs } from '../../state/runs.ts';
import { failedLetters, parkedLetter, postponed, sayFailed } from './letters.ts';
import { eachInTurn } from '../../wait.ts';
import { sayFired, type Subscriptions, type FollowUp } from '../automation/subscriptions.ts';
import type { Gated } from '../gates/gated.ts';
import type { Publisher } from '../../bus/publisher.ts';
import type { BudgetMail } from './budget-mail.ts';
import type { Job, JobResult } from './job.ts';
import { recordPlan } from './plan.ts';
import type { Troubles } from '../../bus/troubles.ts';
import { messageFile } from '../../protocol/layout.ts';
import type { OutboxEntry } from '../../state/outbox.ts';

export interface RecordParts extends OutcomeParts {
  kept: KeptOutcomes;
  log: Log;
  interruptions: Interruptions;
  runs: Runs;
  ledger: Pick<Ledger, 'flush'>;
  publisher: Publisher;
  budgets: Pick<BudgetMail, 'hold'>;
  gated: Gated;
  subscriptions: Pick<Subscriptions, 'after'>;
  settle: (actor: string, channel: string, relPaths: readonly string[]) => Promise<void>;
  leave: (actor: string, channel: string, relPaths: readonly string[]) => Promise<void>;
  giveBack: (actor: string, channel: string, relPaths: readonly string[]) => void;
  awaitContent: (actor: string, channel: string, relPaths: readonly string[]) => void;
  /** Outcomes, by dispatch id, that could not be written to disk yet. */
  unrecorded: Troubles;
  /** Aborted when the dispatcher must end. */
  signal: AbortSignal;
  now: () => Date;
  random: () => number;
  newId: () => string;
  suffix: () => string;
}

/**
 * What is left to wait for after an outcome was recorded; wrapped in an object, as `await` would
 * resolve a bare promise.
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
  parts: RecordParts,
  job: Job,
  outcome: JobResult,
  letter: DeadLetter | undefined,
): Promise<Recorded> {
  const { actor, channel, messages } = job;
  const facts = { id: job.id, actor, channel, tier: job.tier.name, messages };
  const noted = (error: unknown): void => {
    parts.log('internal_error', { id: job.id, error: reasonOf(error) });
  };
  const afterwards = (...steps: (() => Promise<unknown>)[]): Promise<void> =>
    eachInTurn(steps, noted);
  const ended = async (): Promise<void> => {
    // Once its record is gone, no later start would put the run on the bill.
    await parts.ledger.flush().catch(noted);
    await parts.runs.end(job.id);
    await parts.interruptions.clear(actor, channel, messages);
  };
  const settled = (): Promise<void> => parts.settle(actor, channel, messages);
  // Nothing ran, so that nothing is to be kept of it.
  const put = (failure: DeadLetter[]) => () => putOutcome(parts, { failure });
  switch (outcome.kind) {
    case 'answered': {
      const entry = await insist(parts, job.id, () =>
        answerEntry(parts, job, outcome.answers, letter),
      );
      await record(parts, job.id, { answer: entry.entry });
      parts.publisher.expected.add(entry.entry);
      passed('output_recorded');
      parts.log('reply_queued', { ...facts, replies: entry.relPaths });
      for (const task of entry.tasks) sayFired(parts.log, task);
      await afterwards(ended);
      passed('run_removed');
      return {
        answers: entry.paths,
        push: publishAnswer(parts, entry, { ...facts, duration_ms: outcome.result.duration }),
      };
    }
    case 'gone': {
      const forgotten = async () => letter && parts.deadLetters.remove(letter.id);
      // A missing message may come back, so do not record that the actor is done with it.
      await afterwards(() => parts.leave(actor, channel, messages), forgotten, ended);
      return {};
    }
    case 'silent': {
      const silence = { actor, channel, messages };
      await record(parts, job.id, { silence, ...(letter && { letter: letter.id }) });
      await afterwards(settled, ended);
      parts.log('dispatch_silent', { ...facts, ...stderrOf(outcome.result) });
      const { duration } = outcome.result;
      parts.log('dispatch_done', { ...facts, replied: false, duration_ms: duration });
      return {};
    }
    case 'unread':
      parts.log('dispatch_held', { ...facts, unread: outcome.messages });
      if (letter !== undefined) await insist(parts, job.id, put([postponed(parts, letter)]));
      parts.awaitContent(actor, channel, outcome.messages);
      parts.giveBack(actor, channel, messages);
      return {};
    case 'parked': {
      const parked = parkedLetter(parts, job, outcome);
      await insist(parts, job.id, put([parked]));
      const { id, reason, detail } = parked;
      parts.log('parked', { id, actor, channel, messages, reason, detail });
      await afterwards(settled);
      return {};
    }
    case 'planned': {
      const entry = await recordPlan(parts, job, outcome, (plan) =>
        record(parts, job.id, { plan }),
      );
      parts.giveBack(actor, channel, messages);
      await afterwards(ended);
      return { push: parts.publisher.publish(entry).then(() => undefined) };
    }
    case 'over_budget': {
      const { spent, tell, told } = outcome;
      const pushes: Promise<unknown>[] = [];
      if (tell.length > 0) {
        const commits = tell.map(
          ({ message, channel: to }) => outgoing(message, to, job.host, parts.suffix()).commit,
        );
        const entry = { id: parts.newId(), commits };
        await insist(parts, job.id, () => parts.outbox.put(entry));
        pushes.push(parts.publisher.publish(entry.id));
      }
      const held =
        spent && parts.budgets.hold(job, spent, { told, letter: letter?.id }).catch(noted);
      if (spent !== undefined) parts.log('parked', { ...facts, ...spent });
      parts.giveBack(actor, channel, messages);
      await held;
      await afterwards(ended);
      return { push: Promise.all(pushes).then(() => undefined) };
    }
    case 'stopped':
    case 'refused':
      parts.giveBack(actor, channel, messages); // A refused retry's letter stays due and held.
      await afterwards(ended);
      return {};
    case 'failed': {
      const { failure, result } = outcome;
      const { reason, detail } = failure;
      parts.log('dispatch_failed', { ...facts, reason, detail, duration_ms: result.duration });
      const letters = failedLetters(parts, job, outcome, letter);
      await record(parts, job.id, { failure: letters });
      for (const written of letters) sayFailed(parts.log, written);
      // What is tried again is not settled: it may be off the bus by then, and come back.
      const isOver = letters.every(({ state }) => state !== 'retrying');
      await afterwards(isOver ? settled : () => parts.leave(actor, channel, messages));
      passed('letter_settled');
      await afterwards(ended);
      return {};
    }
  }
}

/** The dispatcher ends, and the next one finds what the state has not taken of a run. */
export class Kept extends Error {
  override readonly name = 'Kept';
}

/**
 * Puts an outcome on record, however often the state refuses it.
 *
 * @throws Kept where the dispatcher must end before; what the state says where nothing else takes it either
 */
async function record(parts: RecordParts, id: string, outcome: Outcome): Promise<void> {
  try {
    await insist(parts, id, () => putOutcome(parts, outcome));
  } catch (error) {
    const path = await parts.kept.keep(id, outcome);
    if (path === undefined) throw error;
    parts.log('outcome_kept', { id, path, reason: reasonOf(error) });
    throw new Kept('it is kept for the next start', { cause: error });
  }
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** Repeats a step until it succeeds: what it deals with has been paid for and exists nowhere else. */
export async function insist<T>(
  parts: Pick<RecordParts, 'unrecorded' | 'signal' | 'log'>,
  id: string,
  step: () => Promise<T>,
): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    try {
      const done = await step();
      parts.unrecorded.over(id);
      return done;
    } catch (error) {
      if (parts.signal.aborted) throw error;
      const reason = reasonOf(error);
      parts.unrecorded.note(id, reason);
      parts.log('record_failed', { id, reason });
      await sleep(wait, undefined, { signal: parts.signal }).catch(() => undefined);
    }
  }
}

async function publishAnswer(
  parts: RecordParts,
  { entry, relPaths }: AnswerEntry,
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

/** The stderr of a CLI with an empty answer, which often shows why it is empty. */
function stderrOf({ stderrTail }: InvocationResult): { stderr?: string } {
  const text = stderrTail.trim();
  return text === '' ? {} : { stderr: text.slice(-500) };
}

interface AnswerEntryParts {
  subscriptions: Pick<Subscriptions, 'after'>;
  signal: AbortSignal;
  newId: () => string;
  suffix: () => string;
}

/** The answers of a run as they go into the outbox, with what follows on them. */
interface AnswerEntry {
  entry: OutboxEntry;
  /** Of the answers. */
  relPaths: string[];
  /** Of the answers' files. */
  paths: string[];
  tasks: FollowUp[];
}

/**
 * One entry for the answers of a run and the tasks that subscriptions give because of them: a crash
 * leaves both or neither.
 */
async function answerEntry(
  parts: AnswerEntryParts,
  { actor, channel, messages, host, tip }: Job,
  answers: Extract<JobResult, { kind: 'answered' }>['answers'],
  letter: DeadLetter | undefined,
): Promise<AnswerEntry> {
  const written = answers.map((answer) => ({
    ...answer,
    ...outgoing(answer.message, answer.channel, host, parts.suffix()),
  }));
  const tasks = await parts.subscriptions.after(host, tip, written, parts.signal);
  return {
    relPaths: written.map(({ relPath }) => relPath),
    paths: written.map((one) => messageFile(one.channel, one.relPath)),
    tasks,
    entry: {
      id: parts.newId(),
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
