import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';

/**
 * Folders in which no run may work, which are the transport's checkout and the state directory, and the meaning of
 * `~`.
 */
interface Surroundings {
  transport: { readonly dir: string };
  paths: { readonly root: string };
  env: NodeJS.ProcessEnv;
}

/**
 * Returns the folder that an option of a tier names.
 *
 * @param option the option that names it: `workdir`, or `worktree`
 * @throws CrosstalkError `invalid` when it is not a folder, or when others can write to it through the bus
 */
export async function workdirOf(
  { transport, paths, env }: Surroundings,
  workdir: string,
  option: 'workdir' | 'worktree' = 'workdir',
): Promise<string> {
  const what = option === 'workdir' ? 'working directory' : 'repository';
  const bad = (why: string): CrosstalkError =>
    new CrosstalkError(
      'invalid',
      `the ${what} ${shown(workdir)} ${why}; make it, or change ${option} in the host file`,
    );
  const home = env['HOME'] ?? homedir();
  const path = /^~(?=\/|$)/.test(workdir) ? join(home, workdir.slice(1)) : workdir;
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) throw bad('does not exist');
  if (!(await stat(real)).isDirectory()) throw bad('is no folder');
  for (const [whose, folder] of [
    ['the transport, which others can write to', transport.dir],
    ['the state directory', paths.root],
  ] as const) {
    const root = await realpath(folder).catch(() => folder);
    if (real === root || real.startsWith(root + sep)) throw bad(`is, or lies in, ${whose}`);
  }
  // A run could write to this folder, which would contain this machine's approvals.
  const state = await realpath(paths.root).catch(() => paths.root);
  if (state.startsWith(real === sep ? sep : real + sep)) throw bad('holds the state directory');
  return real;
}
