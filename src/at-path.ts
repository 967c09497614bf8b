import { lstatSync, statSync, type Stats } from 'node:fs';

/*
 * Looks at single paths, at once: what a command does before it asks a dispatcher takes a tenth of the time
 * that loading and awaiting `node:fs/promises` would (docs/decisions/0016).
 */

/** What is at a path itself, or where a symlink leads; undefined where it cannot be looked at, too. */
export function atPath(path: string, { follow }: { follow: boolean }): Stats | undefined {
  try {
    return (follow ? statSync : lstatSync)(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
