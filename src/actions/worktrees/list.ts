import { lookAtWorktree, type ListedWorktree } from '../../bus/worktrees.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';

export type { ListedWorktree };

/** Lists the copies of this machine, by thread. */
export async function listWorktrees(context: Context): Promise<ListedWorktree[]> {
  const all = await new Worktrees(context.paths.worktrees).all();
  const used = await usedDirs(context);
  const listed: ListedWorktree[] = [];
  for (const worktree of all)
    listed.push(await lookAtWorktree(context.env, worktree, { inUse: used.has(worktree.dir) }));
  return listed;
}

/** Returns the working directories of the runs of this machine. */
export async function usedDirs({ runs }: Context): Promise<Set<string>> {
  const going = (await runs.leftovers()).filter(({ alive }) => alive);
  return new Set(going.flatMap(({ workdir }) => workdir ?? []));
}
