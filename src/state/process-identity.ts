import { readFileSync } from 'node:fs';

/** A process that cannot be mistaken for a later one of the same id. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in the system's own words; empty where it cannot be told. */
  started: string;
}

/**
 * When a process started, or undefined when there is no process with this id. A zombie does not
 * count.
 */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    try {
      // The system makes it up at once; to wait for it takes longer.
      return startIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
    } catch {
      return undefined;
    }
  }
  // It is imported only here, because most commands run where /proc gives the answer.
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() === '' ? undefined : stdout.trim();
  } catch {
    return undefined;
  }
}

/**
 * When a process started, told from its `/proc/<pid>/stat`.
 *
 * @returns clock ticks since the machine was started; undefined for a process that has ended
 */
export function startIn(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** The identity of a running process; `started` is empty if the process does not exist. */
export async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, started: (await startOf(pid)) ?? '' };
}

/** Whether exactly this process still runs. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!Number.isInteger(identity.pid) || identity.pid <= 0) return false;
  const started = await startOf(identity.pid);
  return started !== undefined && (identity.started === '' || started === identity.started);
}

/** Ticks of the clock in a second, in what Linux tells of processes. */
const TICKS = 100;

/**
 * For how long a process has run, told from when this one started: a container may be told another uptime than that
 * of the machine whose ticks it sees.
 *
 * @returns seconds; undefined where there is no such process, or the system is none that tells it in `/proc`
 */
export async function runsFor(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const [own, started] = await Promise.all([startOf(process.pid), startOf(pid)]);
  const seconds = process.uptime() + (Number(own) - Number(started)) / TICKS;
  return Number.isFinite(seconds) ? seconds : undefined;
}
