import { setTimeout as sleep } from 'node:timers/promises';
import { endProcessGroup } from '../../runner/process-runner.ts';
import { removeRunDirectory, runDirectories, runDirectory } from '../../state/run-directory.ts';
import type { DeadLetters } from '../../state/dead-letters.ts';
import type { Interruptions } from '../../state/interruptions.ts';
import type { Runs } from '../../state/runs.ts';
import { interruptedLetter, sayFailed, type LetterParts } from './letters.ts';
import { RunDesk, type DeskParts } from './desk.ts';
import { endSurvivors } from './survivors.ts';

export interface LeftoverParts extends LetterParts {
  runs: Runs;
  interruptions: Interruptions;
  deadLetters: DeadLetters;
}

/**
 * A machine may lose power more than once during a run; more deaths than this are blamed on the
 * run.
 */
const MAX_INTERRUPTIONS = 5;

/**
 * Ends the processes that the CLIs of a dead dispatcher left running; their messages are delivered
 * again. Requests that they made are taken over first.
 */
export async function endLeftovers(
  { runs, interruptions, deadLetters, ...parts }: LeftoverParts,
  desks: DeskParts,
): Promise<void> {
  const leftovers = await runs.leftovers();
  const alive = leftovers.filter((run) => run.alive);
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGTERM');
  if (alive.length > 0) await sleep(500);
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGKILL');
  await endSurvivors(
    leftovers.map(({ id, process }) => ({ dir: runDirectory(desks.folder, id), leader: process })),
  );
  for (const { id, actor, host, channel, messages, tip } of leftovers) {
    for (const relPath of messages) {
      const times = await interruptions.count(actor, channel, relPath);
      if (times < MAX_INTERRUPTIONS) continue;
      const letter = interruptedLetter(parts, { actor, channel }, relPath, times);
      await deadLetters.put(letter);
      await interruptions.clear(actor, channel, [relPath]);
      sayFailed(desks.log, letter);
    }
    if (host !== undefined) await RunDesk.clear(desks, { id, actor, host, channel, messages, tip });
    await runs.end(id);
  }
  // A directory without a record belongs to a CLI that was never allowed to start.
  for (const dir of await runDirectories(desks.folder)) await removeRunDirectory(dir);
}
