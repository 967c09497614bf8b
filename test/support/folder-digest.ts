import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A digest of all that is in a folder: names, modes, contents.
 *
 * @param counts whether a path, relative to the folder, counts
 */
export function digestOf(folder: string, counts: (path: string) => boolean = () => true): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    for (const name of readdirSync(join(folder, path)).sort()) {
      const inner = path === '' ? name : `${path}/${name}`;
      if (!counts(inner)) continue;
      const whole = join(folder, inner);
      const found = lstatSync(whole);
      hash.update(`${inner}\0${String(found.mode)}\0`);
      if (found.isDirectory()) add(inner);
      else if (found.isSymbolicLink()) hash.update(readlinkSync(whole));
      else if (found.isFile()) hash.update(readFileSync(whole));
    }
  };
  add('');
  return hash.digest('hex');
}
