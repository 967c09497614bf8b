import { HIDDEN_FOLDERS, SHOWN_FILES, SHOWN_FOLDERS } from '../../protocol/layout.ts';
import type { Objects } from '../objects/objects.ts';
import { readFolder, type TreeEntry } from '../objects/tree.ts';
import { dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { exists, isLink, isPlain, listText } from '../clone/clone-file.ts';
import { replace } from '../clone/own-git.ts';
import { type Repository } from '../clone/handle.ts';

/** The part of a commit that a checkout shows, in the terms of git's sparse checkout (trust.md §1). */
export interface Showing {
  /** The text of `info/sparse-checkout`. */
  patterns: string;
  /** Whether the patterns are whole folders, which git handles fast however many files there are. */
  cone: boolean;
  /** Paths of the commit that are never shown; a folder stands for all below it. */
  foreign: string[];
  /** The files shown next to the folders. */
  files: readonly string[];
  folders: readonly string[];
}

/** Maximum number of foreign paths that are named. */
const MAX_NAMED = 100;

/**
 * Determines what the checkout shows of a commit: the files and folders that belong to a transport.
 *
 * @param folders the folders shown; by default all that belong to a transport
 */
export async function showingOf(
  objects: Objects,
  tip: string,
  folders: readonly string[] = SHOWN_FOLDERS,
): Promise<Showing> {
  const [root, data] = await Promise.all([
    readFolder(objects, tip, ''),
    readFolder(objects, tip, 'data'),
  ]);
  const entries = [...(root ?? []), ...(data ?? [])].filter((entry) => !isShown(entry));
  const foreign = entries.filter(
    ({ path, type }) => type !== 'tree' || !HIDDEN_FOLDERS.includes(path),
  );
  // With whole folders git also shows the files next to them.
  const cone =
    root !== undefined && data !== undefined && foreign.every(({ type }) => type === 'tree');
  const files = SHOWN_FILES.filter((name) =>
    (root ?? []).some(({ path, type }) => path === name && type === 'blob'),
  );
  return {
    patterns: cone ? conePatterns(folders) : plainPatterns(files, folders),
    cone,
    foreign: foreign.slice(0, MAX_NAMED).map(({ path }) => path),
    files,
    folders,
  };
}

function isShown({ path, type }: TreeEntry): boolean {
  if (type === 'blob') return SHOWN_FILES.includes(path);
  return type === 'tree' && (SHOWN_FOLDERS.includes(path) || path === 'data');
}

function plainPatterns(files: readonly string[], folders: readonly string[]): string {
  return [...files.map((name) => `/${name}`), ...folders.map((path) => `/${path}/`)]
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * Returns the patterns in the form that git itself writes: parents with their files, then folders with
 * all below them.
 */
function conePatterns(folders: readonly string[]): string {
  const parents = new Set<string>();
  for (const folder of folders) {
    const names = folder.split('/');
    for (let depth = 1; depth < names.length; depth++) parents.add(names.slice(0, depth).join('/'));
  }
  return [
    '/*',
    '!/*/',
    ...[...parents].sort().flatMap((path) => [`/${path}/`, `!/${path}/*/`]),
    ...[...folders].sort().map((path) => `/${path}/`),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * Configures the operator's own git with the patterns of the checkout, so that a `git pull` there does
 * not write other files. These are settings of the clone that git for the bus does not read. Where one of
 * the files is reached through a symlink, the clone is not configured: whoever made the link decides what
 * would be overwritten.
 *
 * @param showing undefined for everything
 * @param first whether it is the first time: then the clone is also configured for plain files, so that
 *   `git status` finds no change in a link or an executable file that arrived as a plain one
 */
export async function prepareClone(
  { git, clone }: Repository,
  showing: Showing | undefined,
  first = false,
): Promise<void> {
  const wanted = showing?.patterns ?? '';
  const file = join(clone.gitDir, 'info', 'sparse-checkout');
  // Anything but a plain file is replaced by one.
  const marker = await listText(file).catch(() => undefined);
  if ((marker ?? '') === wanted && !first) return;
  const own = join(clone.gitDir, 'config.worktree');
  const config = (await exists(own)) ? own : join(clone.commonDir, 'config');
  if (isLink(config) || isLink(dirname(file)) || !(await isPlain(config))) return;
  const settings = {
    'core.sparseCheckout': showing !== undefined,
    'core.sparseCheckoutCone': showing?.cone ?? false,
    'index.sparse': showing?.cone ?? false,
    ...(first && { 'core.fileMode': false, 'core.symlinks': false }),
  };
  for (const [name, value] of Object.entries(settings)) {
    const set = await git.run(['config', '--file', config, name, String(value)]);
    if (!set.ok) return;
  }
  await makeFolder(join(clone.gitDir, 'info'));
  await replace(file, wanted);
}

/**
 * Sets a value in the clone's configuration.
 *
 * @throws CrosstalkError `refused` where that is a symlink
 */
export async function setInClone(
  { git, clone }: Repository,
  name: string,
  value: string,
): Promise<void> {
  const config = join(clone.commonDir, 'config');
  if (isLink(config))
    throw new CrosstalkError(
      'refused',
      `${config} is a symlink, and nothing is written through it; say it yourself with: git -C ${clone.dir} config ${name} ${value}`,
    );
  await git.must(['config', '--file', config, name, value]);
}
