import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.ts';
import type { Showing } from './showing.ts';

/**
 * Tells the operator's own git what the checkout shows, so that a `git pull` there does not bring
 * the rest. These are settings of the clone that git for the bus does not read.
 *
 * @param showing undefined for everything
 * @param first whether it is the first time: then it is also told that files are plain here, so that
 *   `git status` finds no change in a link or an executable file that arrived as a plain one
 */
export async function prepareClone(
  { git, clone }: Repository,
  showing: Showing | undefined,
  first = false,
): Promise<void> {
  const wanted = showing?.patterns ?? '';
  const file = join(clone.gitDir, 'info', 'sparse-checkout');
  const marker = await readFile(file, 'utf8').catch(() => '');
  if (marker === wanted && !first) return;
  const own = join(clone.gitDir, 'config.worktree');
  const config = (await exists(own)) ? own : join(clone.commonDir, 'config');
  const settings = {
    'core.sparseCheckout': showing !== undefined,
    'core.sparseCheckoutCone': showing?.cone ?? false,
    'index.sparse': showing?.cone ?? false,
    ...(first && { 'core.fileMode': false, 'core.symlinks': false }),
  };
  for (const [name, value] of Object.entries(settings))
    await git.run(['config', '--file', config, name, String(value)]);
  await mkdir(join(clone.gitDir, 'info'), { recursive: true });
  await writeFile(file, wanted);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
