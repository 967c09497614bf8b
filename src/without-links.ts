import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { hasCode } from './errors.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const ON_LINUX = process.platform === 'linux';
/** Of Linux: a folder need not be readable to be passed through. */
const O_PATH = 0o10000000;

/** A folder that stays the same whatever is put in its place. */
export interface OpenFolder {
  /** Its path, for people. */
  path: string;
  /** The path by which what is in it is reached. */
  at: string;
  close: () => Promise<void>;
}

/**
 * Opens a folder by its real path, component by component: a symlink that takes the place of one of them is
 * an error. Where the system has no path for an open folder, as macOS, only the last component is guarded.
 *
 * @param options `make`: makes what is not there; `shownAs`: its path, for people
 * @throws what the system says
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
      // Another process may have made it in between.
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
