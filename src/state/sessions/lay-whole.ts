import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../folder.ts';

/** Suffix of the folder in which folders are made that are moved to a run's directory. */
const MAKING = '.making';

/**
 * Makes folders out of the reach of runs, and moves them as a whole into the directory of a run or
 * session. The process of a session is alive by then: if we wrote there by paths, it could put a symlink
 * in the place of a folder, and so have files written that its sandbox does not let it write. A move
 * follows no symlink.
 *
 * @param names the folders that `make` creates in the folder that it receives
 * @throws the system's error, `ENOTEMPTY` or `ENOTDIR` when something is there already
 */
export async function layWhole(
  dir: string,
  names: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = `${dir}${MAKING}`;
  try {
    await makeFolder(folder, 0o700);
    await make(folder);
    for (const name of names) await rename(join(folder, name), join(dir, name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
