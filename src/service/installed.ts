import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A program as it is installed at a moment. */
export interface Installed {
  version: string;
  /** A digest of what runs. */
  build: string;
  /** When the newest of its files was put there, in milliseconds since 1970. */
  since: number;
}

/**
 * What the entry file of this program leads to now, through links: its package's version and build.
 * Undefined while it is not all there, as in the middle of an installation.
 *
 * @param entry `bin/crosstalk.js`, or a link to it
 */
export async function installedAt(entry: string): Promise<Installed | undefined> {
  try {
    const root = dirname(dirname(await realpath(entry)));
    const manifest = join(root, 'package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version?: unknown };
    if (typeof version !== 'string') return undefined;
    const files = [manifest, join(root, 'bin', 'crosstalk.js'), join(root, 'dist', 'main.cjs')];
    const hash = createHash('sha256').update(version);
    let since = 0;
    for (const file of files.slice(1)) hash.update(await readFile(file));
    // npm gives files of packages a date of its own; only this one tells when they came.
    for (const file of files) since = Math.max(since, (await stat(file)).ctimeMs);
    return { version, build: hash.digest('hex').slice(0, 12), since };
  } catch {
    return undefined;
  }
}
