import type { Engine } from './engine.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../errors.ts';
import { placeOf as fileOf, messageKey } from '../../protocol/layout.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { Kept, recordRun, type Recorded } from './record.ts';
import { runJob } from './run.ts';
import type { Job, JobResult } from './job.ts';

/** Milliseconds that a job which could not be done waits before it makes room for another. */
const BROKEN_WAIT_MS = 1000;
/** No message of the batch existed at its tip, but some may now: it is read again at a newer tip. */
const STOPPED = { kind: 'stopped' } as const;
/** Number of attempts at the look for messages that came back during a run, as no other look is certain to follow. */
const LOOKS = 10;

/**
 * Carries out one job, from its run to its record; never rejects.
 *
 * A guard of an extra may keep its mail from running, as where another host has it.
 *
 * Messages that were not on the bus where the batch was read (because the branch was set back) leave their mailbox at
 * once, together with the look at the scanned messages: a scan that finds them back makes them deliverable again only
 * if they are settled. If the scan has moved on, it may have found them already, so they go back to the mailbox and
 * are examined once more.
 */
export async function work(
  engine: Engine,
  job: Job,
  letter: DeadLetter | undefined,
  running: number,
): Promise<Recorded> {
  const { deliveries, log } = engine;
  const { mailboxes } = deliveries;
  const batch = { actor: job.actor, channel: job.channel, incomplete: job.messages };
  engine.lacking.begin(batch);
  try {
    const held = await engine.extras.beforeRun(job, { running, letter });
    const outcome = held ?? (await runJob(engine, job, letter));
    await beside(engine, job, () => engine.guards.learn(job, outcome));
    const absent = 'absent' in outcome ? outcome.absent : [];
    const isMoved = mailboxes.scanned !== job.tip;
    if (isMoved) mailboxes.giveBack(job.actor, job.channel, absent);
    else if (absent.length > 0)
      await beside(engine, job, () => deliveries.leave(job.actor, job.channel, absent));
    const read = { ...job, messages: job.messages.filter((one) => !absent.includes(one)) };
    const ended = isMoved && read.messages.length === 0 ? STOPPED : outcome;
    const dealt = { ...batch, incomplete: read.messages };
    const run = 'lacking' in outcome ? { ...dealt, lacking: outcome.lacking } : undefined;
    if (run !== undefined) await beside(engine, job, () => engine.lacking.note(run));
    const done = await recordRun(engine, read, ended, letter);
    await engine.extras.afterRun(job, writtenBy(ended, done));
    if (job.approval !== undefined && isOver(ended.kind))
      await engine.gated.remove(job.approval.id);
    if (run !== undefined || ended.kind === 'gone')
      await beside(engine, job, () => engine.lacking.over(dealt, run, job.isRest));
    engine.lacking.end(batch);
    const audience = { host: job.host, actors: [job.actor] };
    if (run !== undefined)
      await beside(
        engine,
        job,
        () => engine.lacking.complete(mailboxes, audience, run.lacking),
        LOOKS,
      );
    engine.stalled.over(placeOf(job));
    return done;
  } catch (error) {
    // A broken repository, a run that could not start, or a dispatcher that must end with a full disk: nothing is
    // recorded, and the messages go back to be tried at a later tick.
    engine.lacking.end(batch);
    await engine.extras.afterRun(job, undefined);
    mailboxes.giveBack(job.actor, job.channel, job.messages);
    // By the record of the run the next start finds its stored results.
    if (error instanceof Kept) return {};
    await engine.runs.end(job.id).catch(() => undefined);
    const reason = reasonOf(error);
    engine.stalled.note(placeOf(job), reason);
    log('internal_error', { id: job.id, actor: job.actor, error: reason });
    await sleep(BROKEN_WAIT_MS, undefined, { signal: engine.stop.signal }).catch(() => undefined);
    return {};
  }
}

/** Whether nothing is to be done any more with an approval: a failed run may be made again by it. */
function isOver(kind: JobResult['kind']): boolean {
  return kind === 'answered' || kind === 'silent' || kind === 'gone' || kind === 'parked';
}

/** Returns the messages that a run has written, by their keys; undefined if nothing of it is on record. */
function writtenBy({ kind }: JobResult, { answers = [] }: Recorded): string[] | undefined {
  if (kind === 'silent') return [];
  if (kind !== 'answered') return undefined;
  return answers.flatMap((path) => {
    const place = fileOf(path);
    return place.kind === 'message' ? [messageKey(place)] : [];
  });
}

function placeOf({ actor, channel }: Job): string {
  return `${actor} ${channel}`;
}

/**
 * Runs a step beside the record of a run; its failure does not discard the report of the run.
 *
 * @param tries number of attempts
 */
async function beside(
  engine: Engine,
  job: Job,
  step: () => Promise<void>,
  tries = 1,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    engine.log('internal_error', { id: job.id, actor: job.actor, error: reasonOf(error) });
    if (tries === 1 || engine.stop.signal.aborted) return;
    await sleep(BROKEN_WAIT_MS, undefined, { signal: engine.stop.signal }).catch(() => undefined);
    await beside(engine, job, step, tries - 1);
  }
}
