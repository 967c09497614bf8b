import { statfsSync, type StatsFs } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { hasCode } from './errors.ts';

/**
 * Creates a folder and its missing parents; an existing folder is left as it is. Node's own `recursive` never ends
 * below a folder like /proc, which exists and says of a new entry that there is no such file.
 *
 * @param mode of the new folders, before the umask
 * @returns the first folder that was created; undefined if none was missing
 * @throws the error of the system when the folder cannot be created
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  const folder = resolve(path);
  try {
    await mkdir(folder, mode);
    return folder;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) return ifFolder(folder, error);
    const above = await makeFolder(dirname(folder), mode);
    // Once only, because the parent is there now.
    const made = await mkdir(folder, mode).then(
      () => folder,
      (again: unknown) => ifFolder(folder, again),
    );
    return above ?? made;
  }
}

/** Swallows an error of `mkdir` if the folder is there; rethrows every other error. */
async function ifFolder(folder: string, error: unknown): Promise<undefined> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) throw error;
}

/** With less than this a disk counts as full: room comes and goes while others write. */
const LEAST = 64 * 1024;

/** Returns what a disk lacks for one more file; undefined if nothing. */
export function lackOf({
  bavail,
  bsize,
  files,
  ffree,
}: Pick<StatsFs, 'bavail' | 'bsize' | 'files' | 'ffree'>): 'bytes' | 'inodes' | undefined {
  if (bavail * bsize < LEAST) return 'bytes';
  // A file system that counts no files has no limit to them.
  return files > 0 && ffree === 0 ? 'inodes' : undefined;
}

/** Whether the disk of a folder takes no other file. */
export function isFull(folder: string): boolean {
  try {
    return lackOf(statfsSync(folder)) !== undefined;
  } catch {
    return false;
  }
}
