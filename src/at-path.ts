import { lstatSync, statSync, type Stats } from 'node:fs';

/*
 * Looks at single paths, at once: what a command does before it asks a dispatcher takes a tenth of the time
 * that loading and awaiting `node:fs/promises` would (docs/decisions/28-starting.md).
 */

/** Returns the stats of a path itself, or of the target of a symlink; undefined also if it cannot be examined. */
export function atPath(path: string, { follow }: { follow: boolean }): Stats | undefined {
  try {
    return (follow ? statSync : lstatSync)(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
