import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openFolder, type OpenFolder } from '../../without-links.ts';
import { isWithin } from './mounts.ts';

/*
 * bubblewrap makes mounts by paths. Where another run may write, it can put a symlink on such a path at that
 * moment, and what is shown would be another folder, up to the operator's HOME. So what is to be shown is looked
 * at before, and before anything of the run begins it is looked again, in the sandbox: each path is a mount, and
 * is what it was.
 */

/** A mount that has to be there. */
export interface Made {
  path: string;
  /** Device and inode of what is shown, as `stat` says them; undefined for a folder in memory. */
  identity: string | undefined;
}

/**
 * Looks at what mounts are to show.
 *
 * @param mounts as `mountsOf` gives them
 * @throws Error where something is not there any more, or a symlink is on the way
 */
export async function toBeMade(mounts: readonly string[]): Promise<Made[]> {
  const places = new Map<string, string | undefined>();
  for (const [at, word] of mounts.entries()) {
    const [first = '', second = ''] = mounts.slice(at + 1, at + 3);
    if (word === '--tmpfs') places.set(first, undefined);
    // What the kernel says of itself is where no run writes.
    else if (/^--(ro-)?bind$/.test(word) && !isWithin(second, '/proc')) places.set(second, first);
  }
  const folders = new Map<string, Promise<OpenFolder>>();
  try {
    const all = [...places].map(async ([path, from]): Promise<Made> => {
      if (from === undefined) return { path, identity: undefined };
      const opening = folders.get(dirname(from)) ?? openFolder(dirname(from));
      folders.set(dirname(from), opening);
      const { dev, ino } = await lstat(join((await opening).at, basename(from)), { bigint: true });
      return { path, identity: `${String(dev)}:${String(ino)}` };
    });
    return await Promise.all(all);
  } finally {
    for (const opened of await Promise.allSettled(folders.values()))
      if (opened.status === 'fulfilled') await opened.value.close();
  }
}
