import type { Repository } from '../clone/handle.ts';
import type { Objects } from '../objects/objects.ts';
import { FOLDER, formatTree, parseTree } from '../objects/tree-object.ts';
import { compareTrees } from '../objects/walk.ts';
import { MOST_DEEP } from './deep.ts';

/** Characters that file systems of macOS leave out of a name. */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;
/** Names that git, or a file system, takes for a git directory, or for a file that describes submodules. */
const OF_GIT = /^(?:\.git|git~1|\.gitmodules|gitmod~[1-4]|gi[0-9a-f]{4}~\d)[. ]*(?::.*)?$/isu;
/** The files that describe submodules are refused only as symlinks. */
const MODULES = /^(?:\.gitmodules|gitmod|gi[0-9a-f]{4}~)/iu;
const SYMLINK = '120000';

/** Whether git refuses to have an entry of this name in an index, on this machine or on another. */
function isRefusedName(name: string, mode: string): boolean {
  if (/^\.{0,2}$/u.test(name)) return true;
  const parts = name.replaceAll(IGNORED, '').split('\\');
  return parts.some((part) => OF_GIT.test(part) && (mode === SYMLINK || !MODULES.test(part)));
}

/** Whether git may refuse a path, which a checkout therefore leaves out; the mode is that of a symlink if unknown. */
export function isRefused(path: string, mode = SYMLINK): boolean {
  return path.split('/').some((name) => isRefusedName(name, mode));
}

/** Whether git has refused a path: its message names only the first one. */
export function saysRefused(reason: string): boolean {
  return /\binvalid path '/u.test(reason);
}

/**
 * Writes the trees of some commits without the paths that git refuses, of which one would stop the checkout. Anybody
 * who can push can make one, with git's own tools. Each folder is read once, at however many places it stands.
 *
 * @returns the ids of the trees; that of a commit without such a path is its own
 */
export async function withoutRefused(
  repository: Pick<Repository, 'git'>,
  objects: Objects,
  commits: readonly string[],
): Promise<string[]> {
  const made = new Map<string, string>();
  const clean = async (oid: string, depth: number): Promise<string> => {
    const known = made.get(oid);
    if (known !== undefined) return known;
    const object = depth > MOST_DEEP ? undefined : await objects.read(oid);
    if (object?.type !== 'tree' || object.content === undefined) return oid;
    const tree = parseTree(object.content, oid.length / 2);
    let isChanged = false;
    for (const [name, entry] of tree) {
      if (isRefusedName(Buffer.from(name, 'latin1').toString('utf8'), entry.mode)) {
        tree.delete(name);
        isChanged = true;
      } else if (entry.mode === FOLDER) {
        const inner = await clean(entry.oid, depth + 1);
        isChanged ||= inner !== entry.oid;
        tree.set(name, { ...entry, oid: inner });
      }
    }
    const result = isChanged ? await writeTree(repository, formatTree(tree)) : oid;
    made.set(oid, result);
    return result;
  };
  const trees: string[] = [];
  for (const commit of commits) {
    const root = (await objects.read(`${commit}^{tree}`))?.oid;
    trees.push(root === undefined ? commit : await clean(root, 0));
  }
  return trees;
}

async function writeTree({ git }: Pick<Repository, 'git'>, content: Buffer): Promise<string> {
  const made = await git.must(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: content });
  return made.toString('utf8').trim();
}

/** Lists paths of a commit that git refuses, at most so many; a folder stands for all below it. */
export async function refusedIn(
  repository: Pick<Repository, 'git'>,
  objects: Objects,
  commit: string,
  most: number,
): Promise<string[]> {
  const found: string[] = [];
  const [tree] = await withoutRefused(repository, objects, [commit]);
  const step = { path: '', from: tree, to: `${commit}^{tree}` };
  const use = (path: string): 'enter' | 'name' => (isRefused(path) ? 'name' : 'enter');
  for await (const changes of compareTrees(repository.git, objects, [step], use)) {
    for (const { path, status } of changes) if (status === 'A') found.push(path);
    if (found.length >= most) break;
  }
  return found.slice(0, most);
}
