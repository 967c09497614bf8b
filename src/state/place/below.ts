import { constants } from 'node:fs';
import { open, type FileHandle, statfs } from 'node:fs/promises';
import { lackOf } from '../../folder.ts';

/**
 * Opens a folder below another one, on Linux, where a run may have put a symlink in the place of any
 * folder on the way: then the result is undefined.
 *
 * @param folder a folder that a run itself cannot reach
 */
export async function folderBelow(
  folder: string,
  names: readonly string[],
): Promise<FileHandle | undefined> {
  let handle = await directory(folder);
  for (const name of names) {
    const above = handle;
    handle = above && (await folderIn(above, name));
    await above?.close();
  }
  return handle;
}

/** Opens a folder in an open folder, like {@link folderBelow}. */
export function folderIn(above: FileHandle, name: string): Promise<FileHandle | undefined> {
  return directory(`${pathOf(above)}/${name}`);
}

/** Returns a path to an open file or folder, wherever it has been moved to. */
export function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${String(fd)}`;
}

function directory(path: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants;
  return open(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY).catch(() => undefined);
}

/** Bytes that a run needs: an answer of 1 MiB, escaped as JSON, and everything else written in the meantime. */
export const ROOM_OF_RUN = 8 * 1024 * 1024;

/** The free space of a disk: none, no inode for another file, less than a run needs, or enough. */
export type Room = 'none' | 'no_inodes' | 'little' | 'enough';

/**
 * Determines the free space of a folder's disk. Nothing is written for this, as that would trigger every
 * watcher of the folder.
 */
export async function roomAt(folder: string): Promise<Room> {
  const found = await statfs(folder).catch(() => undefined);
  if (found === undefined) return 'enough';
  const lack = lackOf(found);
  if (lack !== undefined) return lack === 'bytes' ? 'none' : 'no_inodes';
  return found.bavail * found.bsize < ROOM_OF_RUN ? 'little' : 'enough';
}
