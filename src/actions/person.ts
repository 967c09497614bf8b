import { readFile } from 'node:fs/promises';
import { CrosstalkError } from '../errors.ts';
import type { RunRecord } from '../state/runs.ts';
import type { Context } from './context.ts';

/** Maximum number of ancestors of a process that are checked. */
const MAX_ANCESTORS = 64;

/**
 * Refuses everything that is known to come from a run: only a person decides (trust.md). The signs are
 * agent mode, a dispatch in the environment, and on Linux the processes that have started this one, even
 * when a run has removed all variables. A run outside of a sandbox that goes further, for instance with a
 * process that has no parent in the run, acts with all the rights of the operator anyway.
 *
 * @throws CrosstalkError `refused`
 */
export async function assertPerson({ agentMode, dispatch, runs }: Context): Promise<void> {
  const isOfRun =
    agentMode !== undefined ||
    dispatch.id !== undefined ||
    (await isBelow(process.pid, await runs.leftovers().catch(() => [])));
  if (isOfRun)
    throw new CrosstalkError(
      'refused',
      'not for a run: only a person decides, in a terminal of their own',
    );
}

/** Whether a process descends from one of the runs, or carries the directory of one. */
async function isBelow(pid: number, under: readonly RunRecord[]): Promise<boolean> {
  const leaders = new Map(under.map(({ process: { pid: leader, started } }) => [leader, started]));
  let at = pid;
  for (let steps = 0; steps < MAX_ANCESTORS && at > 1; steps++) {
    const stat = await readFile(`/proc/${String(at)}/stat`, 'utf8').catch(() => undefined);
    if (stat === undefined) return false;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (leaders.has(at) && [fields[19], ''].includes(leaders.get(at))) return true;
    const environment = await readFile(`/proc/${String(at)}/environ`, 'latin1').catch(() => '');
    if (`\0${environment}`.includes('\0CROSSTALK_RUN_DIR=')) return true;
    at = Number(fields[1]);
  }
  return false;
}
