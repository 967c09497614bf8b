import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The first of some programs that a PATH holds. */
export async function firstOnPath(
  programs: readonly string[],
  path: string,
): Promise<string | undefined> {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const program of programs) {
    for (const folder of folders) {
      const found = await access(join(folder, program), constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return program;
    }
  }
  return undefined;
}
