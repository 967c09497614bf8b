import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { refusedRemote } from '../clone/access.ts';
import { stat } from 'node:fs/promises';
import { checkConfig } from '../clone/clone-file.ts';
import type { Clone } from '../clone/clone.ts';
import { Git } from '../git/git.ts';
import { gitFor, type Tree } from './tree.ts';

/**
 * Creates a git of ours whose `origin` is a remote of the repository that a copy was made of. Of that
 * repository's configuration only the address of the remote is used.
 *
 * @throws CrosstalkError `git_failed` for a remote that has no address, or a refused one
 */
export async function gitForRemote(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  remote: string,
): Promise<Git> {
  const url = await urlOf(environment, source, remote);
  const git = await gitFor(environment, tree, {
    source,
    objects: source,
    settings: [['remote.origin.url', url]],
  });
  git.useBatchSsh({ configured: false });
  return git;
}

/**
 * Pushes a branch to a remote under the same name.
 *
 * @param git see {@link gitForRemote}
 * @param to `commit`: in the objects of that repository; `last`: the commit pushed there before, the only
 *   one that may be overwritten
 * @throws CrosstalkError `git_failed` when it cannot be pushed
 */
export async function pushBranch(
  git: Git,
  tree: Tree,
  { remote, commit, last }: { remote: string; commit: string; last: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const pushed = await git.run(
    [
      ...['push', '--porcelain', '--no-follow-tags', '--recurse-submodules=no'],
      `--force-with-lease=refs/heads/${tree.branch}:${last ?? ''}`,
      ...['origin', `${commit}:refs/heads/${tree.branch}`],
    ],
    { network: true, signal },
  );
  if (!pushed.ok)
    throw new CrosstalkError(
      'git_failed',
      `the branch ${tree.branch} could not be pushed to ${remote}: ${pushed.failure.reason}`,
    );
}

async function urlOf(
  environment: NodeJS.ProcessEnv,
  { dir, commonDir }: Clone,
  remote: string,
): Promise<string> {
  const config = join(commonDir, 'config');
  checkConfig(config, await stat(config, { bigint: true }));
  const listed = await new Git(commonDir, environment).run([
    ...['config', '--no-includes', '--file', config, '--get', `remote.${remote}.url`],
  ]);
  const url = listed.ok ? listed.stdout.toString('utf8').replace(/\n$/, '') : '';
  const why = url === '' ? 'it has no address there' : refusedRemote(url);
  if (why === undefined) return url;
  throw new CrosstalkError(
    'git_failed',
    `the remote ${remote} of ${dir}, which worktree_push names, cannot be used: ${why}`,
  );
}
