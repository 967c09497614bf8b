import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A POSIX session on a pseudo-terminal, described by its first process. */
export interface ForegroundJob {
  /** Whether that process is stopped. */
  stopped: boolean;
  /** The process group that receives the terminal's keys. */
  foreground: number;
}

/**
 * A script that runs a program as the foreground job of a session, as the operator's shell would: only then can Ctrl-Z
 * stop it, because the kernel does not stop a session's first process in this way. When the program stops, so does the
 * shell, and once the shell is continued it continues the job. `$1` contains terminal settings, the rest is the program
 * and its arguments. Only the output of `fg` is discarded: bash needs its stderr to be the terminal.
 */
export const JOB_SCRIPT = `stty "$1" 2>/dev/null
shift
(set -m) 2>/dev/null && set -m
"$@"
code=$?
while [ $code -gt 128 ] && jobs %% >/dev/null 2>&1; do
  kill -STOP $$
  fg >/dev/null
  code=$?
done
exit $code
`;

const LIMIT_MS = 5000;

/** Returns the current state of a session; undefined when its first process has ended. Does not block on Linux. */
export function foregroundJobOf(leader: number): ForegroundJob | undefined {
  const [state, foreground] = process.platform === 'linux' ? fromProc(leader) : fromPs(leader);
  if (state === undefined || /^[ZX]/.test(state)) return undefined;
  return { stopped: state.startsWith('T'), foreground: Number(foreground) };
}

function fromProc(leader: number): (string | undefined)[] {
  try {
    const text = readFileSync(`/proc/${String(leader)}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return [fields[0], fields[5]];
  } catch {
    return [];
  }
}

function fromPs(leader: number): string[] {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,tpgid=', '-p', String(leader)], {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  return stdout.trim().split(/\s+/).filter(Boolean);
}

/** Signals a session's foreground job; if it is stopped, also continues it so that it can react. */
export function signalJob(leader: number, signal: NodeJS.Signals): void {
  const job = foregroundJobOf(leader);
  if (job === undefined) return;
  const group = job.foreground > 1 ? job.foreground : leader;
  signalGroup(group, signal);
  if (job.stopped && signal !== 'SIGCONT') signalGroup(group, 'SIGCONT');
}

/** Ends all processes of a session. */
export function killPosixSession(leader: number): void {
  signalJob(leader, 'SIGKILL');
  signalGroup(leader, 'SIGKILL');
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // ESRCH: it has already ended.
  }
}
