import { readdir, readFile, stat } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { startIn, type ProcessIdentity } from '../../state/process-identity.ts';

/**
 * A run that has ended: its directory identifies its processes, and none is older than its first
 * process.
 */
export interface EndedRun {
  dir: string;
  leader: ProcessIdentity;
}

/**
 * The most looks at the processes of this machine: a process that forks while it is being ended is
 * found by the next look.
 */
const MOST_LOOKS = 20;
const BETWEEN_MS = 10;
/**
 * Milliseconds that one look may take, because reading the environment of another process can
 * block.
 */
const LONGEST_LOOK_MS = 3000;
/** The number of processes examined without a pause; a file is open for each. */
const CHUNK = 8;

/**
 * Ends processes that runs have left outside of their process groups, for example with `setsid`:
 * processes of this user whose environment has the run's own `CROSSTALK_RUN_DIR`, which no other
 * process is given, and which are not older than the run's first process. A process that has
 * removed the variable from its environment is not found. This works on Linux only, because other
 * systems do not report the environment of a process reliably.
 *
 * @returns how many were found
 */
export async function endOrphans(runs: readonly EndedRun[]): Promise<number> {
  const known = runs.filter(({ leader }) => Number(leader.started) > 0);
  if (process.platform !== 'linux' || known.length === 0) return 0;
  const ended = new Set<string>();
  for (let look = 0; look < MOST_LOOKS; look++) {
    const left = await Promise.race([
      findOrphans(known),
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

async function findOrphans(runs: readonly EndedRun[]): Promise<ProcessIdentity[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const earliest = Math.min(...runs.map(({ leader }) => Number(leader.started)));
  const found: ProcessIdentity[] = [];
  for (let at = 0; at < pids.length; at += CHUNK) {
    const looks = pids.slice(at, at + CHUNK).map((pid) => lookAt(pid, runs, earliest));
    // Lets other work run in between.
    await setImmediate();
    found.push(...(await Promise.all(looks)).flatMap((survivor) => survivor ?? []));
  }
  return found;
}

/** Returns a process with its start time, if it belongs to a run; most are too old to need a closer look. */
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
    // It has ended, or this user may not examine it.
    return undefined;
  }
}

/**
 * Read synchronously: for a hundred processes this takes a millisecond, and ten in the thread pool.
 */
function startNow(pid: number): string | undefined {
  return startIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
}

/**
 * Checks and ends a process without a pause in between, in which its id could go to another
 * process.
 */
function endExactly({ pid, started }: ProcessIdentity): void {
  try {
    if (startNow(pid) === started) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
