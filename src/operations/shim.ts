import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { binPath } from '../package.ts';
import { agentModeWords } from './agent-mode.ts';

/**
 * Makes a folder whose `crosstalk` and `ct` are this very program, for the PATH of agent CLIs.
 *
 * @param mode makes it the smaller program that runs have (trust.md §3). It stands on the command line
 *   of the program, where whoever may run `crosstalk` and nothing else cannot change it; and variables
 *   by which node would load other code are not handed on.
 */
export async function prepareBin(
  folder: string,
  mode?: Parameters<typeof agentModeWords>[0],
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const words = mode === undefined ? [] : agentModeWords(mode);
  const line = [process.execPath, binPath(), ...words].map(quote).join(' ');
  const guard = mode === undefined ? '' : 'unset NODE_OPTIONS NODE_PATH\n';
  const script = `#!/bin/sh\n${guard}exec ${line} "$@"\n`;
  for (const name of ['crosstalk', 'ct']) {
    // Whole at any moment: a run may be calling it.
    const fresh = join(folder, `${name}.${String(process.pid)}.0.tmp`);
    await writeFile(fresh, script, { mode: 0o700 });
    await chmod(fresh, 0o700);
    await rename(fresh, join(folder, name));
  }
}
