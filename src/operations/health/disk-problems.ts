import type { Room } from '../../state/place/room.ts';
import { act, type Finding } from './finding.ts';
import type { Status } from './report.ts';

/**
 * A disk that takes nothing is told before anything that follows from it.
 *
 * @param known `isTold`: whether it is told already why the dispatcher does not report; `isServed`: whether a
 *   dispatcher runs
 */
export function diskProblems(
  { state_dir: folder, host }: Pick<Status, 'state_dir' | 'host'>,
  { room, isTold, isServed }: { room: Room; isTold: boolean; isServed: boolean },
): Finding[] {
  if (room === 'little' && host !== null)
    return [act(`less than 8 MiB is free on the disk with ${folder}: no run can begin; make room`)];
  const full = fullDisk(folder, room);
  if (full === undefined || isTold) return [];
  const then = isServed ? 'make room, and do not stop the dispatcher before' : 'make room';
  return [act(`${full}: nothing can be sent, fetched or recorded; ${then}`)];
}

/** Says of a disk what it lacks; undefined for one that takes something. */
export function fullDisk(folder: string, room: Room): string | undefined {
  if (room === 'none') return `the disk with ${folder} is full`;
  return room === 'no_inodes'
    ? `the disk with ${folder} has no inode left for another file`
    : undefined;
}
