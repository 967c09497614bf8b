import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';

/** Returns the first of some programs that is found on a PATH. */
export async function firstOnPath(
  programs: readonly string[],
  path: string,
): Promise<string | undefined> {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const program of programs) {
    for (const folder of folders) {
      if (await isExecutable(join(folder, program))) return program;
    }
  }
  return undefined;
}

/** Whether a program can be started in a folder, by its path or through a PATH. */
export async function canStart(program: string, path: string, cwd: string): Promise<boolean> {
  if (program.includes('/')) return isExecutable(resolve(cwd, program));
  return (await firstOnPath([program], path)) !== undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
