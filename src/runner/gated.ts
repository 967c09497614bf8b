import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutInherited } from './inherited.ts';
import type { Start } from './runner.ts';
import { withPipes } from '../with-pipes.ts';

/** Most bytes of stderr in a result. */
export const STDERR_TAIL = 16 * 1024;
/**
 * A script that waits for a line on stdin, the permission to go on, before it becomes the command. If we end
 * before the run is on record, the pipe is closed, and nothing runs that is not on record.
 */
const GATE = 'IFS= read -r go || exit 125; exec "$@"';

/** Starts a command line, which waits for a line on stdin, in a process group of its own. */
export function spawnGated({ command, cwd, env, wrap = [] }: Start) {
  const words = ['-c', GATE, 'sh', ...wrap, '/bin/sh', '-c', command];
  const begin = (rest: readonly (number | 'ignore')[]) =>
    withPipes(
      spawn('/bin/sh', words, {
        ...{ cwd, env, detached: true },
        stdio: ['pipe', 'pipe', 'pipe', ...rest],
      }) as ChildProcessWithoutNullStreams,
    );
  return wrap.length === 0 ? begin([]) : withoutInherited(begin);
}

/** End of a process: its exit code, or the signal or error instead. */
export interface End {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  startError?: string;
}

export function ended(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ exitCode: null, signal: null, startError: error.message });
    });
    child.once('exit', (exitCode, signal) => {
      resolve({ exitCode, signal });
    });
  });
}

/** Resolves once a process has closed its output. */
export function closed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.stdout?.closed === true && child.stderr?.closed === true) resolve();
    else
      child.once('close', () => {
        resolve();
      });
  });
}

/** Sends SIGTERM, waits for the grace period, then sends SIGKILL. */
export async function endGroup(
  child: ChildProcess,
  grace: number,
  ending: Promise<unknown>,
): Promise<void> {
  killGroup(child, 'SIGTERM');
  await Promise.race([ending, sleep(grace, undefined, { ref: false })]);
  killGroup(child, 'SIGKILL');
}

export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) endProcessGroup(child.pid, signal);
}

/** Signals a whole process group; it may have ended already. */
export function endProcessGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: no process of the group is left.
  }
}

/**
 * Collects the end of a stream.
 *
 * @returns a function that returns its last `keep` bytes
 */
export function tail(stream: NodeJS.ReadableStream, keep: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-keep);
  });
  stream.on('error', () => undefined);
  return () => kept.toString('utf8');
}
