import { dropWorktree, isSpare, lookAtWorktree, whatIsLost } from '../../bus/worktrees.ts';
import { CrosstalkError } from '../../errors.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';
import { findWorktree } from './find.ts';
import { usedDirs, type ListedWorktree } from './list.ts';

export { whatIsLost };

/**
 * Removes a copy. The commits of a thread stay on its branch in the repository, where the thread
 * continues if there is more to do.
 *
 * @param input `force`: also removes a copy with which something would be lost
 * @throws CrosstalkError `not_found`, `ambiguous`, `refused`
 */
export async function removeWorktree(
  context: Context,
  { given, force }: { given: string; force: boolean },
): Promise<ListedWorktree> {
  const worktree = await findWorktree(context, given);
  const inUse = (await usedDirs(context)).has(worktree.dir);
  const listed = await lookAtWorktree(context.env, worktree, { inUse });
  if (listed.in_use)
    throw new CrosstalkError(
      'refused',
      `a run is at work in ${listed.id}; wait for its end, or end it with: crosstalk cancel ${listed.root}`,
    );
  if (!force && !isSpare(listed, context.now()))
    throw new CrosstalkError(
      'refused',
      `${listed.id} ${whatIsLost(listed)}; look at it in ${listed.dir}, or remove it all the same with: crosstalk worktree remove ${listed.id} --force`,
    );
  if (!(await dropWorktree(new Worktrees(context.paths.worktrees), worktree)))
    throw new CrosstalkError(
      'refused',
      `a run has just begun in ${listed.id}; wait for its end, or end it with: crosstalk cancel ${listed.root}`,
    );
  return listed;
}

/**
 * Removes the copies with which nothing is lost.
 *
 * @param unused milliseconds for which no run has worked there
 * @returns those that were removed, and those that were kept
 */
export async function pruneWorktrees(
  context: Context,
  { unused }: { unused: number },
): Promise<{ removed: ListedWorktree[]; kept: ListedWorktree[] }> {
  const used = await usedDirs(context);
  const worktrees = new Worktrees(context.paths.worktrees);
  const before = context.now().getTime() - unused;
  const removed: ListedWorktree[] = [];
  const kept: ListedWorktree[] = [];
  for (const worktree of await worktrees.all()) {
    const inUse = used.has(worktree.dir);
    const listed = await lookAtWorktree(context.env, worktree, { inUse });
    const isOld = isSpare(listed, context.now()) && Date.parse(listed.used) <= before;
    const isOver = isOld && (await dropWorktree(worktrees, worktree));
    (isOver ? removed : kept).push(listed);
  }
  return { removed, kept };
}
