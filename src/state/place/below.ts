import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/**
 * Opens a folder below another one, on Linux, where a run may have put a symlink in the place of any
 * folder on the way: then the result is undefined.
 *
 * @param folder a folder that a run itself cannot reach
 */
export async function folderBelow(
  folder: string,
  names: readonly string[],
): Promise<FileHandle | undefined> {
  let handle = await directory(folder);
  for (const name of names) {
    const above = handle;
    handle = above && (await folderIn(above, name));
    await above?.close();
  }
  return handle;
}

/** Opens a folder in an open folder, like {@link folderBelow}. */
export function folderIn(above: FileHandle, name: string): Promise<FileHandle | undefined> {
  return directory(`${pathOf(above)}/${name}`);
}

/** Returns a path to an open file or folder, wherever it has been moved to. */
export function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${String(fd)}`;
}

function directory(path: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants;
  return open(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY).catch(() => undefined);
}
