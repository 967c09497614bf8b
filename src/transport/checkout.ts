import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.ts';

/** What became of the checkout; `left` says why it was not touched. */
export type CheckoutState = { state: 'current' | 'forwarded' } | { state: 'left'; reason: string };

const UNDER_WAY = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'rebase-merge',
  'rebase-apply',
  'BISECT_LOG',
];

/**
 * Fast-forwards the checkout to `tip` so that people and agents can read files there, when it is
 * on the transport's branch and clean; otherwise leaves it exactly as it is (invariant 1).
 */
export async function fastForward(
  repository: Repository,
  branch: string,
  tip: string,
): Promise<CheckoutState> {
  const left = (reason: string): CheckoutState => ({ state: 'left', reason });
  const { git, gitDir } = repository;
  const head = await git.run(['rev-parse', '--symbolic-full-name', 'HEAD', '--verify', 'HEAD']);
  const [ref, commit] = head.stdout.toString('utf8').split('\n');
  if (!head.ok || ref !== `refs/heads/${branch}`) return left(`it is not on the branch ${branch}`);
  if (commit === tip) return { state: 'current' };
  for (const name of UNDER_WAY) {
    if (await exists(join(gitDir, name)))
      return left(`${name} says that something is under way in it`);
  }
  const status = await git.run(['status', '--porcelain', '--untracked-files=no']);
  if (!status.ok) return left(status.failure.reason);
  if (status.stdout.length > 0) return left('it has uncommitted changes');
  const merged = await git.run([
    '-c',
    'core.hooksPath=/dev/null',
    'merge',
    '--ff-only',
    '--quiet',
    tip,
  ]);
  return merged.ok ? { state: 'forwarded' } : left(merged.failure.reason);
}

/**
 * Solo mode moves the branch that may be checked out. Index and work tree follow from `from` to
 * `to` by a two-tree merge, which keeps local changes; left behind, the operator's next commit
 * would delete the mail. Elsewhere than on that branch nothing is touched.
 */
export async function followBranch(
  repository: Repository,
  branch: string,
  from: string,
  to: string,
): Promise<CheckoutState> {
  const { git } = repository;
  const head = await git.run(['symbolic-ref', '--quiet', 'HEAD']);
  if (head.stdout.toString('utf8').trim() !== `refs/heads/${branch}`) {
    return { state: 'left', reason: `it is not on the branch ${branch}` };
  }
  const followed = await git.run(['read-tree', '-m', '-u', from, to]);
  return followed.ok ? { state: 'forwarded' } : { state: 'left', reason: followed.failure.reason };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
