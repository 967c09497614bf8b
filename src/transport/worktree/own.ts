import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listText, smallText } from '../clone/clone-file.ts';
import type { Clone } from '../clone/clone.ts';
import { headOf, OID } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { NOT_IN_FILES } from './source.ts';
import { refsBelow } from './there.ts';
import { gitFor, odd, partsOf, type Tree } from './tree.ts';

/** Refs that name what another repository has, or had; of a copy only those of the repository it was made of do. */
const OF_OTHERS = 'refs/remotes/';
const OF_SOURCE = `${OF_OTHERS}origin/`;

/**
 * The refs of a copy with commits that are nowhere else, by name, with what each names: branches, tags, stashes,
 * notes, and what is checked out, also in a linked work tree.
 *
 * @param last the commit that was brought into the repository before
 */
export async function unfetchedIn(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  last: string | undefined,
): Promise<Map<string, string>> {
  const copy = await partsOf(tree);
  const git = await gitFor(environment, tree, { source, objects: copy });
  const known = [...(await refsBelow(source, 'refs')).values(), tree.base, last ?? tree.base];
  // A branch of the repository may have gone on from what is in the copy.
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(source.objectsDir) };
  return ownOf(git, copy, known, { env, others: OF_SOURCE });
}

/**
 * The refs of a repository that lead to something which no other one is known to have.
 *
 * @param git of ours, with the objects of that repository
 * @param known commits that another one has, with all before them
 */
export async function ownOf(
  git: Git,
  clone: Clone,
  known: readonly string[],
  { env = {}, others = OF_OTHERS }: { env?: Record<string, string>; others?: string } = {},
): Promise<Map<string, string>> {
  const [tips, cut] = [await tipsOf(clone), await listText(join(clone.commonDir, 'shallow'))];
  const elsewhere = new Set([...known, ...(cut ?? '').split('\n').filter((oid) => OID.test(oid))]);
  for (const [name, oid] of tips) if (name.startsWith(others)) elsewhere.add(oid);
  for (const [name, oid] of tips)
    if (elsewhere.has(oid) || name.startsWith(OF_OTHERS)) tips.delete(name);
  if (tips.size === 0) return tips;
  const input = [...tips.values(), ...[...elsewhere].map((oid) => `^${oid}`), ''].join('\n');
  // Of tags and the like the object that they name counts as well as the commits.
  const listed = await git.must(
    ['rev-list', '--objects', '--filter=tree:0', '--ignore-missing', '--stdin'],
    { env, input },
  );
  const own = new Set(
    listed
      .toString('latin1')
      .split('\n')
      .map((line) => line.split(' ', 1)[0]),
  );
  return new Map([...tips].filter(([, oid]) => own.has(oid)));
}

/** What git sets aside until a rebase or a merge has ended. */
const SET_ASIDE = ['rebase-merge/autostash', 'rebase-apply/autostash', 'MERGE_AUTOSTASH'];

/** Whatever a repository leads to its objects by; of its stashes all, of other refs not what they named before. */
async function tipsOf(clone: Clone): Promise<Map<string, string>> {
  const { dir, commonDir } = clone;
  if ((await headOf(clone)) === NOT_IN_FILES) throw odd(join(dir, '.git', 'HEAD'));
  const tips = await refsBelow(clone, 'refs');
  const trees = await readdir(join(commonDir, 'worktrees')).catch(() => []);
  for (const name of ['HEAD', ...SET_ASIDE, ...trees.map((tree) => `worktrees/${tree}/HEAD`)]) {
    const oid = (await smallText(join(commonDir, name))).trim();
    if (OID.test(oid)) tips.set(name, oid);
  }
  const log = (await listText(join(commonDir, 'logs', 'refs', 'stash'))) ?? '';
  const stashed = log.split('\n').flatMap((line) => line.split(' ', 2).slice(1));
  for (const [at, oid] of stashed.reverse().entries())
    if (OID.test(oid)) tips.set(at === 0 ? 'refs/stash' : `refs/stash@{${String(at)}}`, oid);
  return tips;
}
