import { CrosstalkError } from '../../errors.ts';
import type { Objects } from '../objects/objects.ts';
import type { Repository } from '../clone/handle.ts';
import { type CheckoutState, type Epochs, type Plan, left, planMove, stillHolds } from './plan.ts';
import { catchUp } from './solo-checkout.ts';
import { finishMove, forgetMove, moveUnderWay, rememberMove, makePlain } from './move.ts';
import type { GitOutcome } from '../git/git.ts';
import { emptyTree, onCheckout, patternFile } from './on-checkout.ts';
import { replace } from '../clone/own-git.ts';
import { noteMove, readRef, writeRef } from '../clone/refs.ts';
import { prepareClone } from './sparse.ts';

/**
 * Brings the checkout to a commit of the bus, whether the bus has a remote or is this clone alone. What is in
 * the place of a file of git in the clone holds up the checkout, but not the mail.
 *
 * @param showing `folders`: those that are shown, undefined for all that may be; `ahead`: a plan that was made
 *   a moment ago
 */
export async function follow(
  repository: Repository,
  { objects, epochs }: { objects: Objects; epochs: Epochs },
  tip: string,
  { folders, ahead }: { folders: readonly string[] | undefined; ahead?: Plan | undefined },
): Promise<CheckoutState> {
  try {
    return repository.origin === undefined
      ? await catchUp(repository, objects, tip, folders)
      : await fastForward(repository, objects, tip, epochs, folders, ahead);
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'git_failed')
      return { state: 'left', reason: error.message };
    throw error;
  }
}

/**
 * Brings the checkout to `tip` so that people and agents can read files there, when it is on the
 * transport's branch and clean; otherwise leaves it exactly as it is (invariant 1). The checkout
 * shows only the paths of a transport, as plain files, and does not grow past a bound (trust.md
 * §1).
 *
 * When the history before `tip` was archived or rewritten, the checkout goes over to the history
 * that is on the bus now, unless it has commits that never were on the bus.
 *
 * @param folders those that are shown; undefined for all that may be shown
 * @param ahead a plan that was made a moment ago
 */
async function fastForward(
  repository: Repository,
  objects: Objects,
  tip: string,
  epochs: Epochs,
  folders: readonly string[] | undefined,
  ahead?: Plan,
): Promise<CheckoutState> {
  if (ahead !== undefined && (await stillHolds(repository, ahead, tip)))
    return carryOut(repository, objects, ahead);
  const unfinished = await moveUnderWay(repository);
  const planned = await planMove(repository, objects, tip, epochs, folders, unfinished);
  return 'state' in planned ? planned : carryOut(repository, objects, planned);
}

/** Moves the checkout as it was planned. */
async function carryOut(
  repository: Repository,
  objects: Objects,
  { tip, head, before, showing, isFirst, isOther, hidden, measured, isElsewhere }: Plan,
): Promise<CheckoutState> {
  const { clone, branch } = repository;
  const move = { from: head ?? '', to: tip, shown: before };
  await rememberMove(repository, move);
  await prepareClone(repository, showing, isFirst);
  if (showing.patterns !== before) await replace(patternFile(repository), showing.patterns);
  const changing = { cone: showing.cone, changes: isOther };
  const git = (args: readonly string[], input?: string): Promise<GitOutcome> =>
    onCheckout(repository, args, changing, input);
  const start = head ?? (await emptyTree(repository));
  const without = hidden === undefined ? start : await leaveOut(git, hidden, start);
  const moved = await git(['read-tree', '-m', '-u', without, tip]);
  if (!moved.ok) {
    // The disk may be full, or the file system may not accept a name: left like this, the checkout
    // could never follow.
    await finishMove(repository, objects, move);
    return left(moved.failure.reason);
  }
  await makePlain(clone, measured.unusual);
  const written = await writeRef(clone, `refs/heads/${branch}`, tip, head ?? '');
  if (!written.ok && (await readRef(clone, 'HEAD')) !== tip) {
    if ((await git(['read-tree', '-m', '-u', tip, start])).ok) await forgetMove(repository);
    await makePlain(clone, measured.changes);
    return left(written.reason);
  }
  if (head !== undefined && isElsewhere)
    await noteMove(clone, `refs/heads/${branch}`, head, tip, 'crosstalk: follow another history');
  await measured.keep();
  await forgetMove(repository);
  return { state: 'forwarded' };
}

/**
 * Takes an operator's own files out of the index, where the checkout does not show what the bus has
 * at their paths: git would not go on, or would put its own in their place.
 *
 * @param start the commit that the index is at
 * @returns what the index is at then
 */
async function leaveOut(
  git: (args: readonly string[], input?: string) => Promise<GitOutcome>,
  hidden: readonly string[],
  start: string,
): Promise<string> {
  if (hidden.length === 0) return start;
  const input = hidden.map((path) => `${path}\0`).join('');
  await git(['update-index', '--force-remove', '-z', '--stdin'], input);
  const tree = await git(['write-tree', '--missing-ok']);
  return tree.ok ? tree.stdout.toString('utf8').trim() : start;
}
