import { existsSync, watch, type FSWatcher } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Alarm } from '../../dispatcher/alarm.ts';
import { WakeUp } from '../../dispatcher/socket/answers.ts';
import type { StatePaths } from '../../state/state-paths.ts';

/** Milliseconds between looks if a folder cannot be watched, and for changes that involve no file. */
const LOOK_MS = 10_000;
const LOOK_UNWATCHED_MS = 500;
/** Milliseconds in which the changes of one step of the dispatcher are collected. */
const GATHER_MS = 15;

/**
 * Calls back when something in the state directory may have changed: soon after the change, one
 * call at a time, and at regular intervals anyway. A call that failed is repeated with the next
 * one.
 *
 * @param options `gather`: milliseconds between the first change and the call
 */
export async function watchState(
  paths: StatePaths,
  changed: () => Promise<void>,
  { signal, gather = GATHER_MS }: { signal: AbortSignal; gather?: number },
): Promise<void> {
  const bell = new WakeUp();
  const alarm = new Alarm(bell);
  const watchers = new Map<string, FSWatcher>();
  const drop = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const folders = [paths.root, paths.runs];
  try {
    while (!signal.aborted) {
      for (const folder of folders) {
        if (watchers.has(folder)) continue;
        const watcher = watching(folder, bell, drop);
        if (watcher !== undefined) watchers.set(folder, watcher);
      }
      await changed().catch(() => undefined);
      // A folder that does not exist yet will appear in the one above it, which is watched.
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
  bell: WakeUp,
  drop: (folder: string) => void,
): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => {
      // Locks change all the time, and this process itself changes the index.
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
