import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tracking } from './another-bus.ts';
import { removeStaleLock } from './refs.ts';

/** A lock of our own tracking branch is held for milliseconds; this old, it is of a git that was killed. */
const LOCK_MS = 5000;
const WAKING_MS = 500;
const LOOK_MS = 40;

/**
 * Waits until the lock that was in the way of a fetch is gone, or takes it away once it is too old.
 *
 * @param stderr what git said of it
 */
export async function passLock(
  stderr: string,
  branch: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1] ?? '';
  if (!path.endsWith(`/${tracking(branch)}.lock`)) return;
  const begun = performance.now();
  const until = begun + LOCK_MS + 1000;
  while (existsSync(path) && performance.now() < until && signal?.aborted !== true) {
    // A git that slept through a suspend with us ends now.
    const isDone = performance.now() > begun + WAKING_MS;
    if (isDone && (await removeStaleLock(path, LOCK_MS))) return;
    await sleep(LOOK_MS);
  }
}
