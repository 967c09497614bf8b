import { statfs } from 'node:fs/promises';
import { lackOf } from '../../folder.ts';

/** The bytes that a run needs: an answer of 1 MiB, escaped as JSON, and what else is written meanwhile. */
export const ROOM_OF_RUN = 8 * 1024 * 1024;

/** How much room a disk has: none, no inode for another file, less than a run needs, or enough. */
export type Room = 'none' | 'no_inodes' | 'little' | 'enough';

/**
 * How much room the disk of a folder has. Nothing is written to find out: whoever watches the folder would
 * be called each time.
 */
export async function roomAt(folder: string): Promise<Room> {
  const found = await statfs(folder).catch(() => undefined);
  if (found === undefined) return 'enough';
  const lack = lackOf(found);
  if (lack !== undefined) return lack === 'bytes' ? 'none' : 'no_inodes';
  return found.bavail * found.bsize < ROOM_OF_RUN ? 'little' : 'enough';
}
