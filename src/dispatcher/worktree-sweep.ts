import { dropWorktree, isSpare, lookAtWorktree } from '../bus/worktrees.ts';
import type { Log } from '../log.ts';
import type { Worktrees } from '../state/worktrees.ts';
import type { Sessions } from './sessions/sessions.ts';

/** What is needed to remove copies of repositories. */
export interface WorktreeSweepParts {
  worktrees: Worktrees;
  sessions: { warm: Pick<Sessions['warm'], 'keeps'> };
  environment: NodeJS.ProcessEnv;
  log: Log;
  now: () => Date;
}

/**
 * Removes the copies of repositories in which no run has worked since a time and with which nothing is
 * lost (work.md): the branch of the thread is in the repository, where the thread goes on if there is more
 * to do. Only copies so old are looked at, and none in which a process is kept.
 */
export async function sweepWorktrees(
  { worktrees, sessions, environment, log, now }: WorktreeSweepParts,
  edge: Date,
): Promise<void> {
  const removed: string[] = [];
  for (const worktree of await worktrees.all()) {
    if (Date.parse(worktree.record.used) >= edge.getTime()) continue;
    if (sessions.warm.keeps(worktree.record)) continue;
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
