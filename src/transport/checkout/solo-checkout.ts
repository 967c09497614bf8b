import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOnBranch, left, type CheckoutState } from './plan.ts';
import { isCone, onCheckout, patternFile, readPatterns } from './on-checkout.ts';
import type { Objects } from '../objects/objects.ts';
import { replace } from '../clone/own-git.ts';
import type { Repository } from '../clone/handle.ts';
import { showingOf, prepareClone } from './showing.ts';

/** Ref of the commit at which index and work tree still are when they could not follow. */
const BEHIND = 'refs/crosstalk/behind';
const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 100;

/**
 * Updates index and work tree from `from` to `to` after solo mode has moved the branch that may be checked
 * out. A two-tree merge keeps local changes; without the update, the operator's next commit would delete
 * the mail. On any other branch nothing is touched.
 *
 * When they cannot follow (another git holds the index for longer than a moment), the commit at which
 * they are is remembered, and {@link catchUp} or the next message updates them.
 */
export async function followBranch(
  repository: Repository,
  from: string,
  to: string,
): Promise<CheckoutState> {
  const { git, branch } = repository;
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${branch}`);
  const recorded = await behind(repository);
  const start = recorded ?? from;
  const showing = await soloShowing(repository);
  const changing = showing && { ...showing, changes: from === to };
  for (let tries = 1; ; tries++) {
    const followed = await onCheckout(repository, ['read-tree', '-m', '-u', start, to], changing);
    if (followed.ok) {
      if (recorded !== undefined) await git.run(['update-ref', '-d', BEHIND]);
      return { state: 'forwarded' };
    }
    if (followed.failure.kind !== 'contention' || tries === LOCK_TRIES) {
      await git.run(['update-ref', BEHIND, start]);
      return left(
        `${followed.failure.reason}; do not commit in it before it was brought along with: crosstalk sync`,
      );
    }
    await sleep(LOCK_WAIT_MS);
  }
}

/**
 * Updates a checkout in solo mode that could not follow; `current` when it never fell behind.
 *
 * @param folders the folders shown; undefined for everything, as all of it was written here
 */
export async function catchUp(
  repository: Repository,
  objects: Objects,
  tip: string,
  folders: readonly string[] | undefined,
): Promise<CheckoutState> {
  const before = await readPatterns(repository);
  const showing = folders && (await showingOf(objects, tip, folders));
  const start = await behind(repository);
  if (start === undefined && before === (showing?.patterns ?? '')) return { state: 'current' };
  if (!(await isOnBranch(repository))) return left(`it is not on the branch ${repository.branch}`);
  if (showing === undefined) await rm(patternFile(repository), { force: true });
  else await replace(patternFile(repository), showing.patterns);
  await prepareClone(repository, showing);
  return followBranch(repository, start ?? tip, tip);
}

async function soloShowing(repository: Repository): Promise<{ cone: boolean } | undefined> {
  const patterns = await readPatterns(repository);
  return patterns === '' ? undefined : { cone: isCone(patterns) };
}

async function behind({ git }: Repository): Promise<string | undefined> {
  const ref = await git.run(['rev-parse', '--quiet', '--verify', BEHIND]);
  return ref.ok ? ref.stdout.toString('utf8').trim() : undefined;
}
