import {
  dropWorktree,
  isSpare,
  type ListedWorktree,
  lookAtWorktree,
  whatIsLost,
} from '../../bus/worktrees.ts';
import { CrosstalkError } from '../../errors.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { Worktrees, type Worktree } from '../../state/worktrees.ts';
import { findSource } from '../../transport/worktree/source.ts';
import { diffOfTree } from '../../transport/worktree/look.ts';
import type { Context } from '../context.ts';
import { resolveMessage } from '../lookup/resolve.ts';

export { type ListedWorktree, whatIsLost };

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
async function usedDirs({ runs }: Context): Promise<Set<string>> {
  const going = (await runs.leftovers()).filter(({ alive }) => alive);
  return new Set(going.flatMap(({ workdir }) => workdir ?? []));
}

/**
 * Finds a copy by `<thread>/<name>`, by its thread or its branch, or by a message: the first one of the
 * thread, or an answer that names the branch.
 *
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
async function findWorktree(context: Context, given: string): Promise<Worktree> {
  const all = await new Worktrees(context.paths.worktrees).all();
  const wanted = given.trim();
  const names = ({ id, record }: Worktree): string[] => {
    const { root, channel, branch } = record;
    const thread = id.slice(0, id.indexOf('/'));
    return [id, branch, thread, root, `${channel}/${root}`, suffixOf(root)];
  };
  const exact = all.filter((one) => one.id === wanted || one.record.branch === wanted);
  const found = exact.length > 0 ? exact : all.filter((one) => names(one).includes(wanted));
  const matches = found.length > 0 ? found : await ofMessage(context, all, wanted);
  const [only, ...more] = matches;
  if (only === undefined)
    throw new CrosstalkError(
      'not_found',
      `this machine has no copy ${shown(given)}; list them with: crosstalk worktree list`,
    );
  if (more.length > 0)
    throw new CrosstalkError(
      'ambiguous',
      `several copies match ${shown(given)}: ${matches.map(({ id }) => id).join(', ')}; give the whole name`,
    );
  return only;
}

async function ofMessage(
  context: Context,
  all: readonly Worktree[],
  given: string,
): Promise<Worktree[]> {
  const ref = await resolveMessage(context, given).catch(() => undefined);
  if (ref === undefined) return [];
  const tip = await context.transport.tip();
  const message =
    tip === undefined ? undefined : await context.reader.message(tip, ref.channel, ref.relPath);
  const branch = message?.branch?.name;
  return branch === undefined ? [] : all.filter(({ record }) => record.branch === branch);
}

/** Returns one copy, with its content. */
export async function showWorktree(context: Context, given: string): Promise<ListedWorktree> {
  const worktree = await findWorktree(context, given);
  const inUse = (await usedDirs(context)).has(worktree.dir);
  return lookAtWorktree(context.env, worktree, { inUse });
}

/** The changes by the commits of a copy, as a patch. */
export interface WorktreeDiff extends ListedWorktree {
  patch: string;
  /** Whether the patch is longer than the shown part. */
  cut: boolean;
}

/**
 * Returns the changes of a copy.
 *
 * @throws CrosstalkError `not_found`, `ambiguous`, `refused` for a copy that cannot be read
 */
export async function diffWorktree(context: Context, given: string): Promise<WorktreeDiff> {
  const listed = await showWorktree(context, given);
  const { dir, branch, base, commit, source, problem } = listed;
  if (base === null || commit === null)
    throw new CrosstalkError(
      'refused',
      `${listed.id} cannot be looked at: ${problem ?? 'no reason given'}`,
    );
  const tree = { dir, branch, base };
  const { patch, isCut } = await diffOfTree(context.env, await findSource(source), tree, commit);
  return { ...listed, patch, cut: isCut };
}

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
