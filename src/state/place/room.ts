import { statfs } from 'node:fs/promises';

/** With less than this a folder's disk counts as full: room comes and goes while others write. */
const LEAST = 64 * 1024;

/**
 * Whether the disk of a folder has next to no room. Nothing is written to find out: whoever watches the
 * folder would be called each time.
 */
export async function isFullAt(folder: string): Promise<boolean> {
  const free = await statfs(folder).catch(() => undefined);
  return free !== undefined && free.bavail * free.bsize < LEAST;
}
