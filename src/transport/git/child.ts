import type { ChildProcess } from 'node:child_process';

const KILL_AFTER_MS = 2000;

/** Waits until a process and its output are over; `startError` of one that could not be started. */
export function ended(child: ChildProcess): Promise<{ code: number | null; startError?: Error }> {
  return new Promise((resolve) => {
    child.once('error', (startError) => {
      resolve({ code: null, startError });
    });
    child.once('close', (code) => {
      resolve({ code });
    });
  });
}

/** TERM, on which git takes its lock files back, then KILL; the whole group, so ssh ends with it. */
export function end(child: ChildProcess): void {
  signal(child, 'SIGTERM');
  setTimeout(() => {
    if (child.exitCode === null && child.signalCode === null) signal(child, 'SIGKILL');
  }, KILL_AFTER_MS).unref();
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name);
  } catch {
    // The process ended on its own in the meantime.
  }
}
