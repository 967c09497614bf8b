import { lstat, writeFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../folder.ts';
import type { Clone } from '../clone/clone.ts';
import { headOf } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { gitFor, odd, ownGitOf, partsOf, tipOfTree, type Tree } from './tree.ts';
import { notWaiting } from './waiting.ts';

/** What is in a copy by now. */
export interface Looked {
  /** The last commit of its branch. */
  commit: string;
  /** Commits since the branch began. */
  commits: number;
  /** Files that are changed or new, and in no commit. */
  uncommitted: number;
  /** What is checked out, if that is not its branch. */
  elsewhere?: string;
}

/** Looks at a copy. @throws CrosstalkError `git_failed` for one that is not what git has made */
export async function lookAtTree(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  tree: Tree,
): Promise<Looked> {
  const parts = await partsOf(tree);
  const commit = await tipOfTree(tree);
  const git = await gitFor(environment, tree, { source, objects: parts });
  const head = await headOf(parts);
  const count = await git.must(['rev-list', '--count', commit, '--not', tree.base]);
  const ref = `refs/heads/${tree.branch}`;
  return {
    commit,
    commits: Number(count.toString('latin1').trim()),
    uncommitted: await uncommitted(git, tree, commit),
    ...(head !== ref && { elsewhere: head?.replace(/^refs\/heads\//, '') ?? 'no branch' }),
  };
}

/**
 * Counts what is in no commit, by the index of the copy. Filters are off, so a file that passes one
 * counts once it was touched.
 */
async function uncommitted(git: Git, tree: Tree, commit: string): Promise<number> {
  await setBranch(tree, commit);
  const index = join(tree.dir, '.git', 'index');
  const found = await lstat(index).catch(() => undefined);
  if (found?.isFile() === false) throw odd(index);
  const env = { GIT_WORK_TREE: tree.dir, GIT_INDEX_FILE: index };
  const listed = await notWaiting(tree.dir, (signal) =>
    git.must(
      [
        ...['-c', 'core.bare=false', 'status', '--porcelain=v1', '-z', '--no-renames'],
        ...['--untracked-files=normal', '--ignore-submodules=all'],
      ],
      { env, signal },
    ),
  );
  return listed.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
}

/** Lets our own git directory know which commit the branch is at. */
async function setBranch(tree: Tree, commit: string): Promise<void> {
  const path = join(ownGitOf(tree), 'refs', 'heads', tree.branch);
  await makeFolder(dirname(path), 0o700);
  await writeFile(`${path}.new`, `${commit}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
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
