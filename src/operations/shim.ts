import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { binPath } from '../package.ts';

/** Makes a folder whose `crosstalk` and `ct` are this very program, for the PATH of agent CLIs. */
export async function prepareBin(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const script = `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(binPath())} "$@"\n`;
  for (const name of ['crosstalk', 'ct']) {
    const path = join(folder, name);
    await writeFile(path, script, { mode: 0o700 });
    await chmod(path, 0o700);
  }
}
