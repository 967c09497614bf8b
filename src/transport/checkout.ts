import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Epochs } from './epoch.ts';
import type { Objects } from './objects.ts';
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
 *
 * When that history was archived, the checkout goes over to the one that follows it.
 */
export async function fastForward(
  repository: Repository,
  objects: Objects,
  branch: string,
  tip: string,
  epochs: Epochs,
): Promise<CheckoutState> {
  const left = (reason: string): CheckoutState => ({ state: 'left', reason });
  const { git, gitDir } = repository;
  if (!(await isOnBranch(repository, branch))) return left(`it is not on the branch ${branch}`);
  if ((await objects.read('HEAD^{commit}'))?.oid === tip) return { state: 'current' };
  for (const name of UNDER_WAY) {
    if (await exists(join(gitDir, name)))
      return left(`${name} says that something is under way in it`);
  }
  const status = await git.run(['status', '--porcelain', '--untracked-files=no']);
  if (!status.ok) return left(status.failure.reason);
  if (status.stdout.length > 0) return left('it has uncommitted changes');
  const noHooks = ['-c', 'core.hooksPath=/dev/null'];
  const merged = await git.run([...noHooks, 'merge', '--ff-only', '--quiet', tip]);
  if (merged.ok) return { state: 'forwarded' };
  if (!(await epochs.isLeftBehind('HEAD', tip))) return left(merged.failure.reason);
  const moved = await git.run([...noHooks, 'reset', '--keep', '--quiet', tip]);
  return moved.ok ? { state: 'forwarded' } : left(moved.failure.reason);
}

/** Marks the commit that index and work tree still stand at when they could not follow. */
const BEHIND = 'refs/crosstalk/behind';
const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 100;

/**
 * Solo mode moves the branch that may be checked out. Index and work tree follow from `from` to
 * `to` by a two-tree merge, which keeps local changes; left behind, the operator's next commit
 * would delete the mail. Elsewhere than on that branch nothing is touched.
 *
 * When they cannot follow (another git holds the index for longer than a moment), where they
 * stand is remembered, and {@link catchUp} or the next message takes them along.
 */
export async function followBranch(
  repository: Repository,
  branch: string,
  from: string,
  to: string,
): Promise<CheckoutState> {
  const { git } = repository;
  if (!(await isOnBranch(repository, branch))) {
    return { state: 'left', reason: `it is not on the branch ${branch}` };
  }
  const recorded = await behind(repository);
  const start = recorded ?? from;
  for (let tries = 1; ; tries++) {
    const followed = await git.run(['read-tree', '-m', '-u', start, to]);
    if (followed.ok) {
      if (recorded !== undefined) await git.run(['update-ref', '-d', BEHIND]);
      return { state: 'forwarded' };
    }
    if (followed.failure.kind !== 'contention' || tries === LOCK_TRIES) {
      await git.run(['update-ref', BEHIND, start]);
      return {
        state: 'left',
        reason: `${followed.failure.reason}; do not commit in it before it was brought along with: crosstalk sync`,
      };
    }
    await sleep(LOCK_WAIT_MS);
  }
}

/** Solo mode: brings a checkout along that could not follow; `current` when it never fell behind. */
export async function catchUp(
  repository: Repository,
  branch: string,
  tip: string,
): Promise<CheckoutState> {
  const start = await behind(repository);
  return start === undefined ? { state: 'current' } : followBranch(repository, branch, start, tip);
}

async function behind({ git }: Repository): Promise<string | undefined> {
  const ref = await git.run(['rev-parse', '--quiet', '--verify', BEHIND]);
  return ref.ok ? ref.stdout.toString('utf8').trim() : undefined;
}

/** Whether HEAD names the branch; read from its file, where git keeps it there. */
export async function isOnBranch({ git, gitDir }: Repository, branch: string): Promise<boolean> {
  const file = (await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => '')).trim();
  if (file.startsWith('ref: refs/heads/') && !file.endsWith('/.invalid'))
    return file === `ref: refs/heads/${branch}`;
  const head = await git.run(['symbolic-ref', '--quiet', 'HEAD']);
  return head.stdout.toString('utf8').trim() === `refs/heads/${branch}`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
