import type { Engine } from './engine.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcessGroup } from '../../runner/gated.ts';
import { removeRunDirectory, runDirectories, runDirectory } from '../../state/run-directory.ts';
import { settledBy, type Outbox } from '../../state/outbox.ts';
import { putOutcome } from '../../state/outcomes/kept-outcomes.ts';
import { billStaleRun } from './bill.ts';
import { keyOf } from '../intake/known.ts';
import { interruptedLetter, sayFailed } from './letters.ts';
import { RunEndpoint } from './endpoint.ts';
import { isAlive } from '../../state/process-identity.ts';
import { endOrphans } from './orphans.ts';

/**
 * A machine may lose power more than once during a run; more deaths than this are blamed on the
 * run.
 */
const MAX_INTERRUPTIONS = 5;

/**
 * Ends the processes that the CLIs of a dead dispatcher left running; their messages are delivered
 * again. Requests that they made are taken over first.
 */
export async function endStaleRuns(engine: Engine): Promise<void> {
  const { runs, keptProcesses, interruptions, deadLetters, outbox, paths, log } = engine;
  const leftovers = await runs.leftovers();
  const kept = await keptProcesses.all();
  const waiting = await Promise.all(kept.map(({ process }) => isAlive(process)));
  const alive = [...leftovers.filter((run) => run.alive), ...kept.filter((_, at) => waiting[at])];
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGTERM');
  if (alive.length > 0) await sleep(500);
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGKILL');
  await endOrphans(
    [...leftovers, ...kept].map((one) => ({
      dir: runDirectory(paths.run, ('desk' in one ? one.desk : undefined) ?? one.id),
      leader: one.process,
    })),
  );
  // Their sessions are over; the output and messages of a turn are handled below.
  for (const { id } of kept) await keptProcesses.remove(id);
  for (const run of leftovers) await billStaleRun(engine, run);
  const answered = leftovers.length === 0 ? new Set() : await answeredIn(outbox);
  for (const { id, actor, host, channel, messages, tip, desk } of leftovers) {
    const outcome = await engine.kept.get(id);
    if (outcome !== undefined) {
      await putOutcome(engine, outcome);
      log('outcome_found', { id, actor, channel, messages });
    }
    for (const relPath of messages) {
      // The output of the run is on record, so it came to its end.
      if (outcome !== undefined || answered.has(keyOf({ actor, channel, relPath }))) {
        await interruptions.clear(actor, channel, [relPath]);
        continue;
      }
      const times = await interruptions.count(actor, channel, relPath);
      if (times < MAX_INTERRUPTIONS) continue;
      // It may have a letter: this run was a retry, or this was started by a dispatcher that died here.
      const known = (await deadLetters.all()).find(
        (one) => one.actor === actor && one.channel === channel && one.messages.includes(relPath),
      );
      const letter = interruptedLetter(engine, { actor, channel }, relPath, times, known);
      await deadLetters.putToTell(letter);
      await interruptions.clear(actor, channel, [relPath]);
      sayFailed(log, letter);
    }
    if (host !== undefined)
      await RunEndpoint.clear(engine, { id, actor, host, channel, messages, tip }, desk);
    await runs.end(id);
    await engine.kept.remove(id);
  }
  // A directory without a record belongs to a CLI that was never allowed to start.
  for (const dir of await runDirectories(paths.run)) await removeRunDirectory(dir);
}

/** Returns the deliveries whose answer waits to be published. */
async function answeredIn(outbox: Outbox): Promise<Set<string>> {
  const settled = (await outbox.all()).flatMap(({ delivery }) =>
    delivery === undefined ? [] : settledBy(delivery),
  );
  return new Set(
    settled.flatMap(({ actor, channel, messages }) =>
      messages.map((relPath) => keyOf({ actor, channel, relPath })),
    ),
  );
}
