import { lookAtWorktree } from '../../bus/worktrees.ts';
import { CrosstalkError } from '../../errors.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { Worktrees, type Worktree } from '../../state/worktrees.ts';
import { findSource } from '../../transport/worktree/source.ts';
import { diffOfTree } from '../../transport/worktree/look.ts';
import type { Context } from '../context.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { usedDirs, type ListedWorktree } from './list.ts';

/**
 * Finds a copy by `<thread>/<name>`, by its thread or its branch, or by a message: the first one of the
 * thread, or an answer that names the branch.
 *
 * @throws CrosstalkError `not_found` or `ambiguous`
 */
export async function findWorktree(context: Context, given: string): Promise<Worktree> {
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
