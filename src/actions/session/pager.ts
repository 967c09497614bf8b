import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runPlain } from '../../runner/plain-session.ts';
import { firstOnPath } from '../locate.ts';

/** Milliseconds between a signal that ends this program and the end of the pager. */
const GRACE_MS = 2000;
const USUAL = 'less';
/** Options of less unless the user sets others: colours, and no waiting when one screen suffices. */
const LESS = 'FRX';

/**
 * Shows a long text on this terminal with `$PAGER`, otherwise with less. As with git, a shell splits the
 * value of the variable, and `cat` or an empty value means that no pager is wanted.
 *
 * @param name name of the text, which pagers show
 * @returns false when the text was not shown
 */
export async function runPager(
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
  text: string,
  name: string,
): Promise<boolean> {
  const set = env['PAGER'];
  if (set?.trim() === '' || set === 'cat') return false;
  if (set === undefined && (await firstOnPath([USUAL], env['PATH'] ?? '')) === undefined)
    return false;
  const folder = await mkdtemp(join(tmpdir(), 'crosstalk-page-'));
  try {
    const file = join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    const command = ['/bin/sh', '-c', `${set ?? USUAL} "$@"`, 'sh', file];
    const ended = await runPlain(command, { cwd, env: { LESS, ...env } }, GRACE_MS);
    // A shell that does not find the program ends with 127.
    return 'exitCode' in ended && ended.exitCode !== 127;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
