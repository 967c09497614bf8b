import { existsSync, watch, type FSWatcher } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Alarm } from '../../dispatcher/alarm.ts';
import { Bell } from '../../dispatcher/socket/bell.ts';
import type { StatePaths } from '../../state/directory.ts';

/** Between looks where a folder cannot be watched, and for what changes without a file changing. */
const LOOK_MS = 10_000;
const LOOK_UNWATCHED_MS = 500;
/** What one step of the dispatcher writes is looked at together. */
const GATHER_MS = 15;

/**
 * Calls back when something in the state directory may have changed: soon after, one call at a time,
 * and once in a while anyway. A call that fails is repeated with the next.
 *
 * @param options `gather`: milliseconds between the first change and the call
 */
export async function watchState(
  paths: StatePaths,
  changed: () => Promise<void>,
  { signal, gather = GATHER_MS }: { signal: AbortSignal; gather?: number },
): Promise<void> {
  const bell = new Bell();
  const alarm = new Alarm(bell);
  const watchers = new Map<string, FSWatcher>();
  const drop = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const folders = [paths.root, paths.outbox, paths.deadLetters, paths.runs];
  try {
    while (!signal.aborted) {
      for (const folder of folders) {
        if (watchers.has(folder)) continue;
        const watcher = watching(folder, bell, drop);
        if (watcher !== undefined) watchers.set(folder, watcher);
      }
      await changed().catch(() => undefined);
      // A folder that is not there yet appears in the one above, which is watched.
      const isBlind = folders.some((folder) => !watchers.has(folder) && existsSync(folder));
      const rang = await alarm.wait(isBlind ? LOOK_UNWATCHED_MS : LOOK_MS, signal);
      if (rang === 'look') await sleep(gather, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    for (const folder of folders) drop(folder);
  }
}

function watching(
  folder: string,
  bell: Bell,
  drop: (folder: string) => void,
): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => {
      // Locks are touched all the time, and the index by this process itself.
      if (name === null || !/^index\.|\.lock/.test(name)) bell.ring('look');
    });
    watcher.on('error', () => {
      drop(folder);
      bell.ring('look');
    });
    return watcher;
  } catch {
    return undefined;
  }
}
