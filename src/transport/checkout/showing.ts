import { HIDDEN_FOLDERS, SHOWN_FILES, SHOWN_FOLDERS } from '../../protocol/layout.ts';
import type { Objects } from '../objects/objects.ts';
import { readFolder, type TreeEntry } from '../objects/tree.ts';

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
