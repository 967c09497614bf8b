import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clone, findClone } from '../clone/clone.ts';
import { headOf, readRef, OID } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';
import { gitFor, partsOf, tipOfTree, type Tree, ownGitOf, soundParts, odd } from './tree.ts';
import { uncommitted } from './uncommitted.ts';
import { CrosstalkError, hasCode } from '../../errors.ts';
import { exists, smallText, listText, packedText } from '../clone/clone-file.ts';
import { NOT_IN_FILES } from './source.ts';

/** The state of a copy. */
export interface Looked {
  /** The last commit of its branch. */
  commit: string;
  /** Number of commits since the base of the branch. */
  commits: number;
  /** Whether the repository has all commits of the branch. */
  fetched: boolean;
  /** Number of files that are changed or new, and in no commit. */
  uncommitted: number;
  /** Refs of other commits that the repository does not have: branches, `tags/<tag>`, `stash`, `HEAD`. */
  others?: string[];
  /** Repositories in the copy with content of their own: their folders, relative to it. */
  repositories?: string[];
  /** The checked-out branch, if that is not its own. */
  elsewhere?: string;
}

/**
 * Inspects a copy.
 *
 * @param last the commit that was fetched into the repository before
 * @throws CrosstalkError `git_failed` for a copy that is not as git makes it
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

/** Returns the names of the unfetched refs of a copy other than its branch, as people write them. */
export function othersOf(
  unfetched: ReadonlyMap<string, string>,
  { branch }: Tree,
  commit: string,
): string[] {
  return [...unfetched]
    .filter(([name, oid]) => name !== `refs/heads/${branch}` && oid !== commit)
    .map(([name]) => name.replace(/^refs\/(?:heads\/)?/, ''));
}

/** Maximum bytes of a difference that are kept. */
const MAX_DIFF = 8 * 1024 * 1024;
/**
 * Size of a file above which git only reports that it differs: a comparison takes many times its size in
 * memory.
 */
const LARGE_FILE = '16m';

/** The changes that the commits of a branch made. */
export interface Patch {
  patch: string;
  /** Whether the patch is longer than the limit. */
  isCut: boolean;
}

/**
 * Returns the changes that the commits of a branch made, as a patch.
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
 * Returns the patch up to one commit of a branch that may have moved on since.
 *
 * @param at `objects`: the clone with its objects; `tip`: the present commit of the branch; `most`: bytes
 * @returns undefined when the branch does not lead from its base through that commit to its tip
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

/** Maximum number of entries of a copy; one with more is not searched, and so never removed automatically. */
const MOST_ENTRIES = 3_000_000;

/**
 * Lists the repositories in a copy that have content of their own, or cannot be inspected: submodules and
 * others that were cloned or created in it, also in ignored folders, and linked work trees. A commit
 * counts unless one of their remotes has it.
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

/**
 * Counts a repository that cannot be inspected as one with content.
 *
 * @throws any error that is not a failure of git
 */
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

/** Lists the folders below a copy that contain a repository. */
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

/** Lists the git directories of submodules, also of those without files at present. */
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

/** Lists linked work trees outside the copy, which would be of no use without their repository. */
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

/** Refs that name commits which another repository has, or had; in a copy only those of its original do. */
const OF_OTHERS = 'refs/remotes/';
const OF_SOURCE = `${OF_OTHERS}origin/`;

/**
 * Returns the refs of a copy with commits that are nowhere else, by name, with their commits: branches,
 * tags, stashes, notes, and the checked-out commit, also in a linked work tree.
 *
 * @param last the commit that was fetched into the repository before
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
  // A branch of the repository may continue commits of the copy.
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(source.objectsDir) };
  return ownOf(git, copy, known, { env, others: OF_SOURCE });
}

/**
 * Returns the refs of a repository that lead to objects which no other one is known to have.
 *
 * @param git our own git, with the objects of that repository
 * @param known commits that another one has, with their ancestors
 */
async function ownOf(
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
  // For tags and similar refs, the object that they name counts as well as the commits.
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

/** Files of stashes that git makes until a rebase or a merge has ended. */
const SET_ASIDE = ['rebase-merge/autostash', 'rebase-apply/autostash', 'MERGE_AUTOSTASH'];

/** Collects all refs of a repository: all entries of its stash, but no earlier values of other refs. */
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

/** Maximum number of branches and tags by which a remote is known. */
const MOST_REFS = 20_000;

/**
 * Lists commits that a remote of a repository has: those of its refs now, and those of its branches when
 * they were last fetched. The repository need not have all of them.
 *
 * @param git our own git, whose `origin` is that remote
 * @throws CrosstalkError `git_failed` when the remote does not answer
 */
export async function commitsAt(
  git: Git,
  source: Clone,
  remote: string,
  signal: AbortSignal,
): Promise<string[]> {
  const listed = await git.must(['ls-remote', '--quiet', 'origin'], { network: true, signal });
  const now = listed
    .toString('latin1')
    .split('\n')
    .map((line) => line.split('\t', 1)[0] ?? '');
  const tracked = await refsBelow(source, `refs/remotes/${remote}`);
  return [...new Set([...now, ...tracked.values()])]
    .filter((oid) => OID.test(oid))
    .slice(0, MOST_REFS);
}

/** Maximum number of refs in files of their own; a repository with more is not read. */
const MOST_FILES = 1_000_000;

/**
 * Reads the refs of a repository below a prefix, with their objects, from its files, as {@link readRef}
 * does.
 *
 * @throws CrosstalkError `git_failed` for anything other than refs, or too many of them
 */
async function refsBelow(clone: Clone, prefix: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const line of (await packedText(clone.commonDir)).split('\n')) {
    const [oid = '', name = ''] = line.split(' ');
    if (name.startsWith(`${prefix}/`)) found.set(name, oid);
  }
  const folders = [prefix];
  let files = 0;
  for (const folder of folders)
    for (const entry of await readdir(join(clone.commonDir, folder), {
      withFileTypes: true,
    }).catch(() => [])) {
      const name = `${folder}/${entry.name}`;
      if (++files > MOST_FILES)
        throw new CrosstalkError('git_failed', `${clone.dir} has too many refs to be looked at`);
      if (entry.isDirectory()) folders.push(name);
      else if (!name.endsWith('.lock')) {
        const oid = await readRef(clone, name);
        if (oid !== undefined) found.set(name, oid);
      }
    }
  return found;
}
