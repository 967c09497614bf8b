import { setTimeout as sleep } from 'node:timers/promises';
import { endProcessGroup } from '../agent/invoke.ts';
import { removeRunDirectory, runDirectories, runDirectory } from '../state/run-directory.ts';
import type { Runs } from '../state/runs.ts';
import { RunDesk, type DeskParts } from './run-desk.ts';
import { endSurvivors } from './survivors.ts';

/**
 * Ends what the CLIs of a dispatcher that died left running: their mail is delivered again. What they
 * have said is taken over first.
 */
export async function endLeftovers(runs: Runs, desks: DeskParts): Promise<void> {
  const leftovers = await runs.leftovers();
  const alive = leftovers.filter((run) => run.alive);
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGTERM');
  if (alive.length > 0) await sleep(500);
  for (const { process } of alive) endProcessGroup(process.pid, 'SIGKILL');
  await endSurvivors(
    leftovers.map(({ id, process }) => ({ dir: runDirectory(desks.folder, id), leader: process })),
  );
  for (const { id, actor, host, channel, messages } of leftovers) {
    if (host !== undefined) await RunDesk.clear(desks, { id, actor, host, channel, messages });
    await runs.end(id);
  }
  // One without a record is of a CLI that never got its go.
  for (const dir of await runDirectories(desks.folder)) await removeRunDirectory(dir);
}
