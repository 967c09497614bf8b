import { dropWorktree, isSpare, lookAtWorktree } from '../bus/worktrees.ts';
import type { Log } from '../log.ts';
import type { Worktrees } from '../state/worktrees.ts';

/** What is needed to remove copies of repositories. */
export interface WorktreeSweepParts {
  worktrees: Worktrees;
  environment: NodeJS.ProcessEnv;
  log: Log;
  now: () => Date;
}

/**
 * Removes the copies of repositories in which no run has worked since a time and with which nothing is
 * lost (work.md): the branch of the thread is in the repository, where the thread goes on if there is more
 * to do. Only copies so old are looked at.
 */
export async function sweepWorktrees(
  { worktrees, environment, log, now }: WorktreeSweepParts,
  edge: Date,
): Promise<void> {
  const removed: string[] = [];
  for (const worktree of await worktrees.all()) {
    if (Date.parse(worktree.record.used) >= edge.getTime()) continue;
    if (!worktrees.claim(worktree)) continue;
    try {
      const listed = await lookAtWorktree(environment, worktree, { inUse: false });
      if (!isSpare(listed, now())) continue;
      if (await dropWorktree(worktrees, worktree)) removed.push(worktree.id);
    } finally {
      worktrees.leave(worktree);
    }
  }
  if (removed.length > 0) log('worktrees_removed', { count: removed.length, worktrees: removed });
}
