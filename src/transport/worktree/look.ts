import type { Clone } from '../clone/clone.ts';
import { headOf, readRef } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { ownRepositories } from './inner.ts';
import { unfetchedIn } from './own.ts';
import { gitFor, partsOf, tipOfTree, type Tree } from './tree.ts';
import { uncommitted } from './uncommitted.ts';

/** What is in a copy by now. */
export interface Looked {
  /** The last commit of its branch. */
  commit: string;
  /** Commits since the branch began. */
  commits: number;
  /** Whether the repository has all commits of the branch. */
  fetched: boolean;
  /** Files that are changed or new, and in no commit. */
  uncommitted: number;
  /** What leads to other commits that the repository does not have: branches, `tags/<tag>`, `stash`, `HEAD`. */
  others?: string[];
  /** Repositories in the copy with something of their own: their folders, relative to it. */
  repositories?: string[];
  /** What is checked out, if that is not its branch. */
  elsewhere?: string;
}

/**
 * Looks at a copy.
 *
 * @param last the commit that was brought into the repository before
 * @throws CrosstalkError `git_failed` for one that is not what git has made
 */
export async function lookAtTree(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  last: string | undefined,
): Promise<Looked> {
  const parts = await partsOf(tree);
  const commit = await tipOfTree(tree);
  const git = await gitFor(environment, tree, { source, objects: parts });
  const head = await headOf(parts);
  const count = await git.must(['rev-list', '--count', commit, '--not', tree.base]);
  const ref = `refs/heads/${tree.branch}`;
  const unfetched = await unfetchedIn(environment, source, tree, last);
  const at = (await readRef(parts, 'HEAD')) ?? commit;
  const repositories = await ownRepositories(environment, { tree, git: parts });
  const others = othersOf(unfetched, tree, commit);
  return {
    commit,
    commits: Number(count.toString('latin1').trim()),
    fetched: !unfetched.has(ref),
    uncommitted: await uncommitted(git, tree, parts, at),
    ...(others.length > 0 && { others }),
    ...(repositories.length > 0 && { repositories }),
    ...(head !== ref && { elsewhere: head?.replace(/^refs\/heads\//, '') ?? 'no branch' }),
  };
}

/** What of the unfetched refs of a copy is not its branch, as people call it. */
export function othersOf(
  unfetched: ReadonlyMap<string, string>,
  { branch }: Tree,
  commit: string,
): string[] {
  return [...unfetched]
    .filter(([name, oid]) => name !== `refs/heads/${branch}` && oid !== commit)
    .map(([name]) => name.replace(/^refs\/(?:heads\/)?/, ''));
}

/** The most bytes of a difference that are kept. */
const MAX_DIFF = 8 * 1024 * 1024;
/** Larger files are told to differ, not how: a comparison takes many times their size in memory. */
const LARGE_FILE = '16m';

/** What the commits of a branch changed. */
export interface Patch {
  patch: string;
  /** Whether it is longer than what is kept. */
  isCut: boolean;
}

/**
 * What the commits of a branch changed, as a patch.
 *
 * @param commit the last of them, in the objects of the copy
 */
export async function diffOfTree(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
  commit: string,
): Promise<Patch> {
  const git = await gitFor(environment, tree, { source, objects: await partsOf(tree) });
  return patchOf(git, tree.base, commit, MAX_DIFF);
}

/**
 * The same for one commit of a branch that may have moved on since.
 *
 * @param at `objects`: where its objects are; `tip`: where the branch is by now; `most`: bytes
 * @returns undefined where the branch does not lead from its base to that commit and on to its tip
 * @throws CrosstalkError `git_failed` when an object is missing
 */
export async function diffOnBranch(
  environment: NodeJS.ProcessEnv,
  { source, tree }: { source: Clone; tree: Tree },
  commit: string,
  { objects, tip, most }: { objects: Clone; tip: string; most: number },
): Promise<Patch | undefined> {
  const git = await gitFor(environment, tree, { source, objects });
  for (const [older, newer] of [
    [commit, tip],
    [tree.base, commit],
  ] as const) {
    const ancestry = await git.run(['merge-base', '--is-ancestor', older, newer]);
    if (!ancestry.ok) return undefined;
  }
  return patchOf(git, tree.base, commit, most);
}

async function patchOf(git: Git, base: string, commit: string, most: number): Promise<Patch> {
  const patch = await git.must(
    [
      ...['-c', `core.bigFileThreshold=${LARGE_FILE}`, 'diff'],
      ...['--no-ext-diff', '--no-textconv', '--no-color', '--submodule=short'],
      ...[base, commit],
    ],
    { most },
  );
  return { patch: patch.subarray(0, most).toString('utf8'), isCut: patch.length > most };
}
