import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Git } from '../git/git.ts';
import { differences } from '../objects/differences.ts';
import type { Objects } from '../objects/objects.ts';
import { FOLDER_MODE } from '../objects/walk.ts';

/**
 * Maximum depth of nested folders. A transport needs seven (protocol.md §1), and no file system has paths
 * of more than about two thousand. Git calls itself for each folder on the way down, and crashes when its
 * stack is full: git 2.39 between three and four thousand folders deep with the usual eight megabytes,
 * and newer ones refuse more than two thousand. Two hundred take half a megabyte.
 */
export const MOST_DEEP = 200;

/** Number of folders of a path that messages name: as far as a folder in a channel. */
const NAMED_FOLDERS = 4;
const NAMED_LENGTH = 300;

/** Returns the message that names a folder nested deeper than {@link MOST_DEEP}. */
export function deepReason(path: string): string {
  return `folders are nested more than ${String(MOST_DEEP)} deep, too deep for git: ${named(path)}; the checkout goes on once they are removed from the bus`;
}

/** Shortens a path for a message, as somebody may have made it very long. */
export function named(path: string): string {
  const beginning = escapeInvisible(path.split('/', NAMED_FOLDERS).join('/'));
  return beginning.length > NAMED_LENGTH ? `${beginning.slice(0, NAMED_LENGTH)}...` : beginning;
}

/** A changed folder: `from` is the folder that it replaces. */
interface Found {
  path: string;
  from: string | undefined;
  to: string;
}

/**
 * Finds the first folder that is new at a commit, or changed, and nested too deep. Git reads the folders
 * that a checkout does not show as well, therefore these are looked at here; those that it shows are
 * walked for their size. Between two commits of an ordinary transport hardly any other folder differs.
 * They are looked at level by level, a folder once in each and read once, however a tree is made: one
 * that stands at several places of a level is as deep at each.
 *
 * @param from a commit that git has brought the checkout to; undefined where there is none yet
 * @param shown the folders that are passed over
 * @throws CrosstalkError `git_failed` when an object is missing
 */
export async function deepFolder(
  git: Git,
  objects: Objects,
  from: string | undefined,
  to: string,
  shown: readonly string[],
): Promise<string | undefined> {
  const read = new Map<string, Found[]>();
  const before = from === undefined ? undefined : `${from}^{tree}`;
  let level: Found[] = [{ path: '', from: before, to: `${to}^{tree}` }];
  for (let depth = 0; level.length > 0; depth++) {
    const next = new Map<string, Found>();
    for (const folder of level) {
      const key = `${String(folder.from)} ${folder.to}`;
      const inside = read.get(key) ?? (await foldersIn(git, objects, folder));
      read.set(key, inside);
      for (const { path, ...sides } of inside) {
        const inner = folder.path === '' ? path : `${folder.path}/${path}`;
        if (!shown.includes(inner)) next.set(sides.to, { path: inner, ...sides });
      }
    }
    level = [...next.values()];
    if (depth === MOST_DEEP) return level[0]?.path;
  }
  return undefined;
}

/** Returns the changed folders in a folder; their paths are their names. */
async function foldersIn(git: Git, objects: Objects, { from, to }: Found): Promise<Found[]> {
  const found = await differences(git, objects, from, to);
  const folders: Found[] = [];
  if (found.kind !== 'pairs') return folders;
  for await (const pairs of found.pairs)
    for (const { name, from: before, to: after } of pairs) {
      if (after?.mode !== FOLDER_MODE) continue;
      const replaced = before?.mode === FOLDER_MODE ? before.oid : undefined;
      folders.push({ path: name, from: replaced, to: after.oid });
    }
  return folders;
}
