import { statfs } from 'node:fs/promises';
import { lackOf } from '../../folder.ts';

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
