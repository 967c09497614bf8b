import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The installed program at a moment. */
export interface Installed {
  version: string;
  /** Digest of the code. */
  build: string;
  /** Time when the newest of its files was installed, in milliseconds since 1970. */
  since: number;
}

/**
 * Determines what the entry file of this program currently resolves to: its package's version and
 * build. Undefined while the package is incomplete, as in the middle of an installation.
 *
 * @param entry `bin/crosstalk.js`, or a link to it
 */
export async function installedAt(entry: string): Promise<Installed | undefined> {
  try {
    const root = dirname(dirname(await realpath(entry)));
    const manifest = join(root, 'package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version?: unknown };
    if (typeof version !== 'string') return undefined;
    const built = ['main.cjs', 'core.cjs', 'rest.cjs'].map((name) => join(root, 'dist', name));
    const files = [manifest, join(root, 'bin', 'crosstalk.js'), ...built];
    const hash = createHash('sha256').update(version);
    let since = 0;
    for (const file of files.slice(1)) hash.update(await readFile(file));
    // npm sets the modification time of packages' files; only the change time shows when they
    // arrived.
    for (const file of files) since = Math.max(since, (await stat(file)).ctimeMs);
    return { version, build: hash.digest('hex').slice(0, 12), since };
  } catch {
    return undefined;
  }
}
