import { readFileSync } from 'node:fs';

/** A process, distinguished from a later one with the same id. */
export interface ProcessIdentity {
  pid: number;
  /** Its start, in the system's own format; empty when that is unknown. */
  started: string;
}

/**
 * Returns the start of a process, or undefined when there is no process with this id. A zombie does not
 * count.
 */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    try {
      // The system generates the file immediately; an asynchronous read takes longer.
      return startIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
    } catch {
      return undefined;
    }
  }
  // The import is only here, because most commands run where /proc gives the answer.
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
 * Reads the start of a process from its `/proc/<pid>/stat`.
 *
 * @returns clock ticks since the machine was started; undefined for a process that has ended
 */
export function startIn(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** Returns the identity of a running process; `started` is empty if the process does not exist. */
export async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, started: (await startOf(pid)) ?? '' };
}

/** Whether exactly this process still runs. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!Number.isInteger(identity.pid) || identity.pid <= 0) return false;
  const started = await startOf(identity.pid);
  return started !== undefined && (identity.started === '' || started === identity.started);
}

/** Clock ticks a second in Linux's data on processes. */
const TICKS = 100;

/**
 * Returns the run time of a process, computed from the start of this one: a container may report another
 * uptime than that of the machine whose ticks it sees.
 *
 * @returns seconds; undefined when there is no such process, or the system has no `/proc` with this
 */
export async function runsFor(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const [own, started] = await Promise.all([startOf(process.pid), startOf(pid)]);
  const seconds = process.uptime() + (Number(own) - Number(started)) / TICKS;
  return Number.isFinite(seconds) ? seconds : undefined;
}
