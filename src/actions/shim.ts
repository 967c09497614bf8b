import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { binPath } from '../package.ts';
import { agentModeWords } from './agent-mode.ts';

/**
 * Creates a folder whose `crosstalk` and `ct` start this very program, for the PATH of agent CLIs.
 *
 * @param mode turns it into the restricted program for runs (trust.md §3). The mode is on the command
 *   line of the program, where a process that may only run `crosstalk` cannot change it; and variables
 *   that would make node load other code are not passed on.
 */
export async function prepareBin(
  folder: string,
  mode?: Parameters<typeof agentModeWords>[0],
): Promise<void> {
  await makeFolder(folder, 0o700);
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const words = mode === undefined ? [] : agentModeWords(mode);
  const line = [process.execPath, binPath(), ...words].map(quote).join(' ');
  const guard = mode === undefined ? '' : 'unset NODE_OPTIONS NODE_PATH\n';
  const script = `#!/bin/sh\n${guard}exec ${line} "$@"\n`;
  for (const name of ['crosstalk', 'ct']) {
    // Renaming keeps the program complete at any moment, because a run may be calling it.
    const fresh = join(folder, `${name}.${String(process.pid)}.0.tmp`);
    await writeFile(fresh, script, { mode: 0o700 });
    await chmod(fresh, 0o700);
    await rename(fresh, join(folder, name));
  }
}
