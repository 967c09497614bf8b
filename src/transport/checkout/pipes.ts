import { lstat, opendir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { SHOWN_FOLDERS } from '../../protocol/layout.ts';
import { replace } from '../clone/own-git.ts';

/**
 * Git reads files of the checkout by their names, such as `.gitattributes` in any folder, and a run may
 * be able to put a named pipe there, for which git waits until it is killed. Looking for a pipe before
 * each git call would cost more than the call; so the search runs only once a git has timed out, and the
 * pipe is remembered until it is gone.
 */

/** Maximum entries of folders that are examined; a checkout holds no more than a million files. */
const MOST_ENTRIES = 2_000_000;

/** Returns the reason for the pipe that git waited for before, if that is still there. */
export async function knownPipe(dir: string, gitDir: string): Promise<string | undefined> {
  const path = await readFile(pipeFile(gitDir), 'utf8').catch(() => undefined);
  if (path === undefined) return undefined;
  if ((await lstat(join(dir, path)).catch(() => undefined))?.isFIFO() === true)
    return reasonOf(join(dir, path));
  await rm(pipeFile(gitDir), { force: true });
  return undefined;
}

/** Searches for a pipe that git may have waited for, and returns the reason that names it. */
export async function findPipe(dir: string, gitDir: string): Promise<string | undefined> {
  const ahead = ['', 'data', ...SHOWN_FOLDERS];
  let entries = 0;
  for (let folder = ahead.pop(); folder !== undefined; folder = ahead.pop()) {
    // Git does not enter folders that are not shown, and they may be large.
    const isEntered = folder !== '' && folder !== 'data';
    for await (const entry of (await opendir(join(dir, folder)).catch(() => undefined)) ?? []) {
      const path = join(folder, entry.name);
      if (++entries > MOST_ENTRIES) return undefined;
      if (entry.isDirectory() && isEntered) ahead.push(path);
      if (!entry.isFIFO()) continue;
      await replace(pipeFile(gitDir), path);
      return reasonOf(join(dir, path));
    }
  }
  return undefined;
}

function pipeFile(gitDir: string): string {
  return join(gitDir, 'checkout-pipe');
}

function reasonOf(path: string): string {
  return `${escapeInvisible(path)} is a named pipe, for which git waits; see what has put it there, and remove it`;
}
