import { readdir, readFile, stat } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { startIn, type ProcessIdentity } from '../../state/process-identity.ts';

/** A run that has ended: by its directory its processes are known, and none is older than its leader. */
export interface EndedRun {
  dir: string;
  leader: ProcessIdentity;
}

/** Looks at the processes of this machine: what forks while it is ended is found by the next one. */
const MOST_LOOKS = 20;
const BETWEEN_MS = 10;
/** Milliseconds that one look may take: reading what another process is made of can block. */
const LONGEST_LOOK_MS = 3000;
/** Processes looked at in one go. */
const CHUNK = 32;

/**
 * Ends what runs have left outside of their process groups, as `setsid` does: processes of this user
 * whose environment has the run's own `CROSSTALK_RUN_DIR`, which nothing else is given, and which are not
 * older than the run's first process. A process that has taken the variable from its environment is not
 * found. Linux only: elsewhere the system does not tell the environment of a process reliably.
 *
 * @returns how many were found
 */
export async function endSurvivors(runs: readonly EndedRun[]): Promise<number> {
  const known = runs.filter(({ leader }) => Number(leader.started) > 0);
  if (process.platform !== 'linux' || known.length === 0) return 0;
  const ended = new Set<string>();
  for (let look = 0; look < MOST_LOOKS; look++) {
    const left = await Promise.race([
      findSurvivors(known),
      sleep(LONGEST_LOOK_MS, [], { ref: false }),
    ]);
    if (left.length === 0) break;
    for (const survivor of left) {
      endExactly(survivor);
      ended.add(`${String(survivor.pid)} ${survivor.started}`);
    }
    await sleep(BETWEEN_MS);
  }
  return ended.size;
}

async function findSurvivors(runs: readonly EndedRun[]): Promise<ProcessIdentity[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const earliest = Math.min(...runs.map(({ leader }) => Number(leader.started)));
  const found: ProcessIdentity[] = [];
  for (let at = 0; at < pids.length; at += CHUNK) {
    const looks = pids.slice(at, at + CHUNK).map((pid) => lookAt(pid, runs, earliest));
    // Others get their turn in between.
    await setImmediate();
    found.push(...(await Promise.all(looks)).flatMap((survivor) => survivor ?? []));
  }
  return found;
}

/** A process with its start, if it is one of a run; most are too old to be read any further. */
async function lookAt(
  pid: number,
  runs: readonly EndedRun[],
  earliest: number,
): Promise<ProcessIdentity | undefined> {
  if (pid === process.pid) return undefined;
  try {
    const started = startNow(pid);
    if (started === undefined || Number(started) < earliest) return undefined;
    if ((await stat(`/proc/${String(pid)}`)).uid !== process.getuid?.()) return undefined;
    const environment = `\0${await readFile(`/proc/${String(pid)}/environ`, 'latin1')}\0`;
    const isOf = ({ dir, leader }: EndedRun): boolean =>
      Number(started) >= Number(leader.started) &&
      environment.includes(`\0CROSSTALK_RUN_DIR=${Buffer.from(dir).toString('latin1')}\0`);
    return runs.some(isOf) ? { pid, started } : undefined;
  } catch {
    // It has ended, or is not ours to look at.
    return undefined;
  }
}

/** Read at once: for a hundred processes that takes a millisecond, and ten in the pool of threads. */
function startNow(pid: number): string | undefined {
  return startIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
}

/** Looked at and ended without a pause in between, in which another process could get its id. */
function endExactly({ pid, started }: ProcessIdentity): void {
  try {
    if (startNow(pid) === started) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
