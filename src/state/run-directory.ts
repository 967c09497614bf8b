import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { bury, clearGraveyard } from './removal.ts';

/** Returns the directory of a run below `<state>/run`, whose name is short because a socket is in it. */
export function runDirectory(folder: string, id: string): string {
  return join(folder, id.slice(-10));
}

/** Creates the directory of a run, with its drop folder and the files of its batch. */
export async function makeRunDirectory(
  folder: string,
  id: string,
  batch: readonly { name: string; content: string }[],
): Promise<string> {
  const dir = runDirectory(folder, id);
  await makeFolder(folder, 0o700);
  await mkdir(dir, { mode: 0o700 });
  await stageBatch(dir, batch);
  return dir;
}

/** Writes the input of a turn into the directory of its run or session. */
export async function stageBatch(
  dir: string,
  batch: readonly { name: string; content: string }[],
): Promise<void> {
  for (const path of [join(dir, 'drop'), join(dir, 'batch')]) await mkdir(path, { mode: 0o700 });
  for (const { name, content } of batch)
    await writeFile(join(dir, 'batch', name), content, { mode: 0o600, flag: 'wx' });
}

/** Suffix of the folder in which the directory of a run is removed. */
export const GONE = '.gone';
/** Suffix of the folder to which a drop folder is moved when its run has ended. */
export const SEALED = '.drops';

/** Removes the directory of a run, or the rest of one whose removal was interrupted. */
export async function removeRunDirectory(dir: string): Promise<void> {
  const gone = dir.endsWith(GONE) ? dir : `${dir}${GONE}`;
  try {
    if (gone !== dir) {
      await bury(dir, gone);
      await clearGraveyard(`${dir}${SEALED}`);
    }
    await clearGraveyard(gone);
  } catch {
    // The next start tries again.
  }
}

/** Lists the directories that runs have left. */
export async function runDirectories(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).map((name) => join(folder, name));
}

/** Message for a process that outlives its run, or that cannot see the run's directory. */
export const RUN_HAS_ENDED =
  'the run has ended: its directory, CROSSTALK_RUN_DIR, is gone, and nothing of this was done; say it before the run ends, and let a sandbox see that directory';
