import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What git says of a disk without room. */
const NO_ROOM =
  /No space left on device|Disk quota exceeded|unable to write (?:loose object )?file/i;
/** What git calls what it has not finished. */
const UNFINISHED = /^(?:tmp_(?:obj|pack|idx|rev)_|\.tmp-)/;

/**
 * Removes what a git that found no room has left half written: it removes nothing itself, and each further
 * try would take more of the room that somebody makes. What another git is writing there at the moment
 * finds no room either.
 *
 * @param objectsDir of the repository it worked in; undefined for none of ours
 * @param said what it has printed; nothing is done unless it found no room
 * @param since when it was started, in milliseconds since 1970
 */
export function removeLeftovers(objectsDir: string | undefined, said: string, since: number): void {
  if (objectsDir === undefined || !NO_ROOM.test(said)) return;
  const folders = namesIn(objectsDir).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  for (const folder of folders)
    for (const name of namesIn(join(objectsDir, folder)))
      if (UNFINISHED.test(name)) removeSince(join(objectsDir, folder, name), since);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeSince(path: string, since: number): void {
  try {
    // The clock of the file system is coarser than ours.
    if (statSync(path).mtimeMs >= since - 20) rmSync(path, { force: true });
  } catch {
    // It is gone, or stays.
  }
}
