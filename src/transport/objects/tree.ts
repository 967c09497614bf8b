import type { Git } from '../git/git.ts';
import type { Objects } from './objects.ts';
import { parseTree } from './tree-object.ts';
import { compareTrees, FOLDER_MODE, type FileChange, type FolderUse } from './walk.ts';

export interface TreeEntry {
  path: string;
  oid: string;
  mode: string;
  type: string;
}

/** Lists the changes between two commits, some at a time; see {@link compareTrees}. */
export function changesBetween(
  git: Git,
  objects: Objects,
  from: string,
  to: string,
  paths: readonly string[],
  use: FolderUse,
): AsyncGenerator<FileChange[]> {
  const whole = { path: '', from: `${from}^{tree}`, to: `${to}^{tree}` };
  const parts = paths.map((path) => ({ path, from: `${from}:${path}`, to: `${to}:${path}` }));
  return compareTrees(git, objects, paths.length === 0 ? [whole] : parts, use);
}

/** An entry that a walk found. */
export interface WalkedEntry extends TreeEntry {
  /** The reason why a folder that may contain files of ours was not entered. */
  unread?: string;
}

const SUBMODULE = '160000';

function typeOf(mode: string): string {
  return mode === FOLDER_MODE ? 'tree' : mode === SUBMODULE ? 'commit' : 'blob';
}

/**
 * Reads the entries of one folder at a commit through the open process; none for a folder that does not
 * exist, undefined for one that is too large for that.
 */
export async function readFolder(
  objects: Objects,
  commit: string,
  folder: string,
): Promise<TreeEntry[] | undefined> {
  const object = await objects.read(`${commit}:${folder}`);
  if (object?.type !== 'tree') return [];
  if (object.content === undefined) return undefined;
  return [...parseTree(object.content, object.oid.length / 2)].map(([name, { mode, oid }]) => ({
    mode: mode.padStart(6, '0'),
    oid,
    type: typeOf(mode.padStart(6, '0')),
    path: `${folder === '' ? '' : `${folder}/`}${Buffer.from(name, 'latin1').toString('utf8')}`,
  }));
}

/**
 * Lists the files below a folder at a commit, some at a time in path order: whatever their total number,
 * memory holds a few thousand. A folder that is not entered is listed too; see {@link compareTrees}.
 */
export async function* walkFolder(
  git: Git,
  objects: Objects,
  commit: string,
  folder: string,
  use: FolderUse,
): AsyncGenerator<WalkedEntry[]> {
  const step = { path: folder, from: undefined, to: `${commit}:${folder}` };
  for await (const changes of compareTrees(git, objects, [step], use)) {
    yield changes.map(({ path, oid, mode, unread }) => ({
      path,
      oid,
      mode,
      type: typeOf(mode),
      ...(unread !== undefined && { unread }),
    }));
  }
}

/**
 * Lists the entries of folders at a commit, in path order; none for a folder that does not exist. Folders
 * among the entries are not entered.
 */
export async function listTree(
  git: Git,
  commit: string,
  folders: readonly string[],
): Promise<TreeEntry[]> {
  if (folders.length === 0) return [];
  return listPaths(
    git,
    commit,
    folders.map((folder) => `${folder}/`),
  );
}

/** Lists the entries at some paths; for a path that ends with a slash, the entries in that folder. */
export async function listPaths(
  git: Git,
  commit: string,
  paths: readonly string[],
): Promise<TreeEntry[]> {
  const out = await git.must(['ls-tree', '-z', commit, '--', ...paths]);
  return out
    .toString('utf8')
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const end = line.indexOf('\t');
      const [mode = '', type = '', oid = ''] = line.slice(0, end).split(' ');
      return { path: line.slice(end + 1), oid, mode, type };
    });
}

/** Maximum number of paths given to one process. */
const MANY_PATHS = 500;

/** Returns those of some paths that exist at a commit; only the folders on the way to them are read. */
export async function standing(
  git: Git,
  commit: string,
  paths: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (let at = 0; at < paths.length; at += MANY_PATHS) {
    const some = paths.slice(at, at + MANY_PATHS);
    for (const { path } of await listPaths(git, commit, some)) found.add(path);
  }
  return found;
}
