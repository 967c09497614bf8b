import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { makeFolder } from '../folder.ts';

/*
 * Removal of files that runs have made, while one of them, or a process that one has left behind, may
 * still be changing them. A removal by paths could check a folder, find a symlink in its place a moment
 * later, and remove the target: files that the run's sandbox never let it touch. So everything is moved
 * to a graveyard first, a folder of ours to which no run has a path. A move follows no symlink. There
 * each folder is moved out of its parent before it is entered: the path of a removed file never leads
 * through a folder that a run can reach. Names are bytes: a run may use some that are not text.
 */

/**
 * Milliseconds after which the rest of a graveyard is left for another time, as something may be adding
 * to it.
 */
const LIMIT_MS = 60_000;
/** Linux flag that opens a file of any kind without any permission for it; Node has no name for it. */
const O_PATH = 0o10000000;

/**
 * Moves a file, a symlink or a folder to a graveyard, whatever permissions a run has removed from it.
 *
 * @param graveyard in the same file system, out of reach of runs; created if necessary
 * @returns its new path; undefined when there was nothing
 */
export async function bury(path: string | Buffer, graveyard: string): Promise<string | undefined> {
  await makeFolder(graveyard, 0o700);
  const grave = join(graveyard, randomBytes(8).toString('hex'));
  try {
    await rename(path, grave);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    // A folder without write permission cannot be moved into another one.
    await permit(path);
    await rename(path, grave);
  }
  return grave;
}

/** Removes a graveyard with everything in it; a rest that would take too long stays for the next time. */
export async function clearGraveyard(graveyard: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (
    let graves = await namesIn(graveyard);
    graves.length > 0;
    graves = await namesIn(graveyard)
  ) {
    for (const name of graves) {
      if (performance.now() > deadline) return;
      await clear(join(graveyard, name), graveyard, deadline);
    }
  }
  await rmdir(graveyard).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}

async function clear(grave: string, graveyard: string, deadline: number): Promise<void> {
  if (!(await lstat(grave)).isDirectory()) return unlink(grave);
  await chmod(grave, 0o700);
  for (;;) {
    for (const name of await readdir(grave, { encoding: 'buffer' }))
      await takeOut(Buffer.concat([Buffer.from(`${grave}/`), name]), graveyard);
    try {
      await rmdir(grave);
      return;
    } catch (error) {
      if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
      if (performance.now() > deadline) return;
    }
  }
}

async function takeOut(path: Buffer, graveyard: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) await bury(path, graveyard);
  }
}

/** Gives us all permissions for a folder; when a symlink has taken its place, nothing is changed. */
async function permit(path: string | Buffer): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants;
  const onLinux = process.platform === 'linux';
  const handle = await open(path, (onLinux ? O_PATH : O_RDONLY) | O_NOFOLLOW | O_DIRECTORY);
  try {
    if (onLinux) await chmod(`/proc/self/fd/${String(handle.fd)}`, 0o700);
    else await handle.chmod(0o700);
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
