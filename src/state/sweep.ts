import { lstat, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isOwn } from './place/private.ts';
import { isAlive, runsFor } from './process-identity.ts';

/** Seconds by which a process may seem to be younger than a file that it writes. */
const SLACK = 2;

/**
 * Removes files that dead processes left under a temporary name of `writeDurably`. An entry that cannot
 * be removed, such as a folder of such a name, stays and does no harm.
 */
export async function sweep(folders: Iterable<string>, now: Date): Promise<void> {
  for (const folder of folders) {
    // The target of another user's symlink is not ours.
    if (!(await isOurs(folder))) continue;
    for (const name of await readdir(folder).catch(() => [])) {
      const pid = Number(/\.(\d+)\.\d+\.tmp$/.exec(name)?.[1]);
      const path = join(folder, name);
      if (Number.isInteger(pid) && !(await mayWrite(pid, path, now)))
        await rm(path, { force: true }).catch(() => undefined);
    }
  }
}

async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found !== undefined && isOwn(found);
}

/** Whether a file may belong to the present process with this id, and not to an earlier one. */
async function mayWrite(pid: number, path: string, now: Date): Promise<boolean> {
  if (!(await isAlive({ pid, started: '' }))) return false;
  const seconds = await runsFor(pid);
  const written = await stat(path).catch(() => undefined);
  if (seconds === undefined || written === undefined) return true;
  return (now.getTime() - written.mtimeMs) / 1000 <= seconds + SLACK;
}
