import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clone, findClone } from '../clone/clone.ts';
import { headOf, readRef } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { unfetchedIn, ownOf } from './own.ts';
import { gitFor, partsOf, tipOfTree, type Tree, ownGitOf, soundParts } from './tree.ts';
import { uncommitted } from './uncommitted.ts';
import { CrosstalkError, hasCode } from '../../errors.ts';
import { exists, smallText } from '../clone/clone-file.ts';

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

/** A copy with more entries is not searched, and so never removed without being told to. */
const MOST_ENTRIES = 3_000_000;

/**
 * The repositories in a copy that have something of their own, or cannot be looked at: submodules and what else was
 * cloned or begun in it, also in folders that are ignored, and linked work trees. A commit counts unless one of
 * their remotes has it.
 *
 * @returns their folders, relative to the copy
 */
async function ownRepositories(
  environment: NodeJS.ProcessEnv,
  { tree, git }: { tree: Tree; git: Clone },
): Promise<string[]> {
  const found = new Set<string>();
  const seen = new Set([git.commonDir]);
  const clones = [git];
  for (const dir of await placesIn(tree.dir)) {
    const clone = await findClone(dir).catch(() => undefined);
    if (clone?.dir === dir) clones.push(clone);
    else found.add(relative(tree.dir, dir));
  }
  for (const clone of clones) {
    const { dir, gitDir, commonDir } = clone;
    const isFirst = !seen.has(commonDir);
    seen.add(commonDir);
    const isLost = clone !== git && hasOwn(environment, tree, clone, { isFirst });
    if (await (isLost && isLost.catch(isUnknown))) found.add(relative(tree.dir, dir));
    for (const place of await linkedOutside(tree.dir, commonDir))
      found.add(relative(tree.dir, place));
    for (const path of await modulesIn(join(gitDir, 'modules')))
      if (!clones.some((one) => one.gitDir === path)) clones.push(bareAt(path));
  }
  return [...found].sort();
}

/** What is in a repository that cannot be looked at counts. @throws what is no failure of git */
function isUnknown(error: unknown): true {
  if (error instanceof CrosstalkError) return true;
  throw error;
}

async function hasOwn(
  environment: NodeJS.ProcessEnv,
  tree: Tree,
  clone: Clone,
  { isFirst }: { isFirst: boolean },
): Promise<boolean> {
  const objects = await soundParts(clone);
  const head = await readRef(clone, 'HEAD');
  const dir = join(ownGitOf(tree), `inner-${randomUUID()}`);
  const inner = { dir, branch: 'inner', base: head ?? '' };
  try {
    const git = await gitFor(environment, inner, { source: clone, objects });
    if (isFirst && (await ownOf(git, clone, [])).size > 0) return true;
    const isBare = clone.dir === clone.gitDir;
    return !isBare && (await uncommitted(git, inner, clone, head)) > 0;
  } finally {
    await rm(ownGitOf(inner), { recursive: true, force: true });
  }
}

/** The folders below a copy in which there is a repository. */
async function placesIn(top: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [top];
  let entries = 0;
  for (const folder of folders)
    for (const entry of await entriesOf(folder)) {
      if (++entries > MOST_ENTRIES)
        throw new CrosstalkError('git_failed', `${top} has too many files to be looked at`);
      if (entry.name === '.git') found.push(folder);
      else if (entry.isDirectory()) folders.push(join(folder, entry.name));
    }
  return found.filter((folder) => folder !== top);
}

/** The git directories of submodules, also of those that have no files now. */
async function modulesIn(folder: string): Promise<string[]> {
  const entries = await entriesOf(folder);
  if (entries.some(({ name }) => name === 'HEAD')) return [folder];
  const below = entries.filter((entry) => entry.isDirectory());
  const found = await Promise.all(below.map(({ name }) => modulesIn(join(folder, name))));
  return found.flat();
}

function bareAt(gitDir: string): Clone {
  return { dir: gitDir, gitDir, commonDir: gitDir, objectsDir: join(gitDir, 'objects') };
}

/** Linked work trees that are elsewhere: without their repository they would be of no use. */
async function linkedOutside(top: string, commonDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await entriesOf(join(commonDir, 'worktrees'))) {
    const file = (await smallText(join(commonDir, 'worktrees', name, 'gitdir'))).trim();
    if (file !== '' && !file.startsWith(`${top}/`) && (await exists(file)))
      found.push(join(file, '..'));
  }
  return found;
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return [];
    throw error;
  }
}
