import { dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { exists, isLink, isPlain, listText } from '../clone/clone-file.ts';
import { replace } from '../clone/own-git.ts';
import type { Repository } from '../clone/handle.ts';
import type { Showing } from './showing.ts';

/**
 * Configures the operator's own git with the patterns of the checkout, so that a `git pull` there does
 * not write other files. These are settings of the clone that git for the bus does not read. Where one of
 * the files is reached through a symlink, the clone is not configured: whoever made the link decides what
 * would be overwritten.
 *
 * @param showing undefined for everything
 * @param first whether it is the first time: then the clone is also configured for plain files, so that
 *   `git status` finds no change in a link or an executable file that arrived as a plain one
 */
export async function prepareClone(
  { git, clone }: Repository,
  showing: Showing | undefined,
  first = false,
): Promise<void> {
  const wanted = showing?.patterns ?? '';
  const file = join(clone.gitDir, 'info', 'sparse-checkout');
  // Anything but a plain file is replaced by one.
  const marker = await listText(file).catch(() => undefined);
  if ((marker ?? '') === wanted && !first) return;
  const own = join(clone.gitDir, 'config.worktree');
  const config = (await exists(own)) ? own : join(clone.commonDir, 'config');
  if (isLink(config) || isLink(dirname(file)) || !(await isPlain(config))) return;
  const settings = {
    'core.sparseCheckout': showing !== undefined,
    'core.sparseCheckoutCone': showing?.cone ?? false,
    'index.sparse': showing?.cone ?? false,
    ...(first && { 'core.fileMode': false, 'core.symlinks': false }),
  };
  for (const [name, value] of Object.entries(settings)) {
    const set = await git.run(['config', '--file', config, name, String(value)]);
    if (!set.ok) return;
  }
  await makeFolder(join(clone.gitDir, 'info'));
  await replace(file, wanted);
}

/**
 * Sets a value in the clone's configuration.
 *
 * @throws CrosstalkError `refused` where that is a symlink
 */
export async function setInClone(
  { git, clone }: Repository,
  name: string,
  value: string,
): Promise<void> {
  const config = join(clone.commonDir, 'config');
  if (isLink(config))
    throw new CrosstalkError(
      'refused',
      `${config} is a symlink, and nothing is written through it; say it yourself with: git -C ${clone.dir} config ${name} ${value}`,
    );
  await git.must(['config', '--file', config, name, value]);
}
