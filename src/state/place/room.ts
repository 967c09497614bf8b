import { statfs } from 'node:fs/promises';

/** With less than this a folder's disk counts as full: room comes and goes while others write. */
const LEAST = 64 * 1024;
/** The bytes that a run needs: an answer of 1 MiB, escaped as JSON, and what else is written meanwhile. */
export const ROOM_OF_RUN = 8 * 1024 * 1024;

/** How much room a disk has: none, less than a run needs, or enough. */
export type Room = 'none' | 'little' | 'enough';

/**
 * How much room the disk of a folder has. Nothing is written to find out: whoever watches the folder would
 * be called each time.
 */
export async function roomAt(folder: string): Promise<Room> {
  const found = await statfs(folder).catch(() => undefined);
  const free = found === undefined ? Infinity : found.bavail * found.bsize;
  if (free < LEAST) return 'none';
  return free < ROOM_OF_RUN ? 'little' : 'enough';
}
