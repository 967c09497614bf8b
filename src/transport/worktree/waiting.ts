import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { odd } from './tree.ts';

/** What git opens in the folders of a work tree, whatever it is. */
const RULES = new Set(['.gitignore', '.gitattributes', '.gitmodules']);
/** Milliseconds after which it is asked what git waits for; most copies are looked at in less. */
const PATIENCE_MS = 1000;
/** A copy with more entries is not searched to its end; git has its time limit. */
const MOST_ENTRIES = 300_000;

/**
 * Lets git look at the files of a copy. A run may have put a named pipe where git reads rules, and git would
 * wait for it until its time is over; it is searched for only when git takes long, as it takes time.
 *
 * @throws CrosstalkError `git_failed`, which names the pipe
 */
export async function notWaiting<T>(
  dir: string,
  git: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const [stop, over] = [new AbortController(), new AbortController()];
  let pipe: string | undefined;
  const searching = sleep(PATIENCE_MS, undefined, { signal: over.signal })
    .then(() => oddRules(dir, over.signal))
    .then((found) => {
      pipe = found;
      if (found !== undefined) stop.abort();
    })
    .catch(() => undefined);
  try {
    return await git(stop.signal);
  } catch (error) {
    throw pipe === undefined ? error : odd(pipe);
  } finally {
    over.abort();
    await searching;
  }
}

/** The first rules in a work tree that are no file, nor lead to one. */
async function oddRules(top: string, signal: AbortSignal): Promise<string | undefined> {
  const folders = [top];
  let entries = 0;
  for (const folder of folders) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (signal.aborted || ++entries > MOST_ENTRIES) return undefined;
      const path = join(folder, entry.name);
      if (entry.isDirectory() && path !== join(top, '.git')) folders.push(path);
      if (!RULES.has(entry.name) || entry.isFile() || entry.isDirectory()) continue;
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile() === false && !found.isDirectory()) return path;
    }
  }
  return undefined;
}
