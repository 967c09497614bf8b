import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CrosstalkError } from './errors.ts';

/** The command that installs this program for good. */
export const INSTALL = 'npm install --global @cordfuse/crosstalk';

const LACKING =
  'the program lacks its own package.json beside its folders bin and dist; install it anew';

/**
 * Returns the package's own folder, whether this file runs from the sources or from a bundle.
 *
 * @throws CrosstalkError `not_found` if a part of the package was moved
 */
export function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(dir, 'package.json'))) {
    if (dirname(dir) === dir) throw new CrosstalkError('not_found', LACKING);
    dir = dirname(dir);
  }
  return dir;
}

export function packageVersion(): string {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version?: unknown };
  if (typeof version !== 'string') throw new CrosstalkError('not_found', LACKING);
  return version;
}

/**
 * Whether a path is in a folder that whoever filled it empties again, such as that of npx. From there nothing is
 * installed that has to start the program later.
 */
export function isPassing(path: string): boolean {
  return /[\\/](?:_npx|dlx(?:-[^\\/]*)?|bunx-[^\\/]*)[\\/]/.test(path);
}

/** @throws CrosstalkError `refused` for an entry file of this program that {@link isPassing} */
export function assertStays(entry: string): void {
  if (isPassing(entry))
    throw new CrosstalkError(
      'refused',
      `${entry} is a copy that does not stay, so nothing is installed that would start it; first: ${INSTALL}`,
    );
}

/** Returns the entry file of the command line tool. */
export function binPath(): string {
  return join(packageRoot(), 'bin', 'crosstalk.js');
}
