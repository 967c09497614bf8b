import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { hasCode } from './errors.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const ON_LINUX = process.platform === 'linux';
/** Flag of Linux: a folder need not be readable to be passed through. */
const O_PATH = 0o10000000;

/** A folder held open, which stays the same even if another is put in its place. */
export interface OpenFolder {
  /** Its path, for people. */
  path: string;
  /** The path by which its entries are reached. */
  at: string;
  close: () => Promise<void>;
}

/**
 * Opens a folder by its real path, component by component: a symlink that replaces one of them is an error. Where the
 * system has no path for an open folder, as on macOS, only the last component is guarded.
 *
 * @param options `make`: creates missing folders; `shownAs`: its path, for people
 * @throws the error of the system
 */
export async function openFolder(
  path: string,
  { make = false, shownAs = path }: { make?: boolean; shownAs?: string } = {},
): Promise<OpenFolder> {
  const step = async (at: string): Promise<FileHandle> => {
    const flags = O_DIRECTORY | O_NOFOLLOW | (ON_LINUX ? O_PATH : O_RDONLY);
    try {
      return await open(at, flags);
    } catch (error) {
      if (!make || !hasCode(error, 'ENOENT')) throw error;
      // Another process may have created it in between.
      await mkdir(at).catch(() => undefined);
      return open(at, flags);
    }
  };
  let folder = await step(sep);
  let above: string = sep;
  for (const name of path.split(sep).filter((part) => part !== '')) {
    const from = ON_LINUX ? `/proc/self/fd/${String(folder.fd)}` : above;
    const next = await step(join(from, name)).finally(() => folder.close());
    above = join(above, name);
    folder = next;
  }
  const at = ON_LINUX ? `/proc/self/fd/${String(folder.fd)}` : path;
  return { path: shownAs, at, close: () => folder.close() };
}
