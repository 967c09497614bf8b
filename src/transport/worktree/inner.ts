import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { CrosstalkError, hasCode } from '../../errors.ts';
import { exists, smallText } from '../clone/clone-file.ts';
import { findClone, type Clone } from '../clone/clone.ts';
import { readRef } from '../clone/refs.ts';
import { ownOf } from './own.ts';
import { gitFor, ownGitOf, soundParts, type Tree } from './tree.ts';
import { uncommitted } from './uncommitted.ts';

/** A copy with more entries is not searched, and so never removed without being told to. */
const MOST_ENTRIES = 3_000_000;

/**
 * The repositories in a copy that have something of their own, or cannot be looked at: submodules and what else was
 * cloned or begun in it, also in folders that are ignored, and linked work trees. A commit counts unless one of
 * their remotes has it.
 *
 * @returns their folders, relative to the copy
 */
export async function ownRepositories(
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
