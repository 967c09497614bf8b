import { lstatSync, type Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** A folder or file that is looked through before a sandbox shows it. */
export interface Root {
  path: string;
  /** Whether runs may write there, so that repositories count. */
  writable: boolean;
  /** Whether an operator has named it as a place to write though it is a repository to git. */
  mayBeRepository?: boolean;
  /** Whether only what every user of the machine may read is shown. */
  isPublic?: boolean;
}

/** What a sandbox must not show as it is. */
export interface Survey {
  /** Sockets, named pipes, and what is not public: files, and folders that cannot be looked through. */
  cover: { path: string; kind: 'folder' | 'file' }[];
  /** Git directories, and files that stand for one; of a bare repository the folder itself. */
  repositories: { path: string; kind: 'folder' | 'file' | 'link' }[];
}

/** So many entries are looked through at most, which takes some seconds. */
const MOST_ENTRIES = 500_000;
/** So many things may be found; each is a mount, of which bubblewrap takes some thousands. */
const MOST_FOUND = 1000;
/** Characters of a path, of those that the kernel takes as one argument. */
const LONGEST = 1000;
/** Folders that are read at once. */
const AT_ONCE = 16;

/**
 * Looks through folders for what a sandbox must not show: a mount without the right to write keeps nobody from
 * connecting to a socket below it, and git executes what is in a repository. No symlink is followed.
 *
 * @param roots none of them below another one that is not looked through as it is
 * @param skip folders that are not entered
 * @returns a problem where too much is there
 */
export async function survey(
  roots: readonly Root[],
  skip: ReadonlySet<string>,
): Promise<Survey | { problem: string }> {
  const found: Survey = { cover: [], repositories: [] };
  let entries = 0;
  let problem: string | undefined;
  for (const root of roots) {
    /** Folders to look through, and whether they are in a git directory. */
    const waiting: { path: string; inGit: boolean }[] = [];
    const look = async (folder: { path: string; inGit: boolean }): Promise<void> => {
      const names = await namesIn(folder.path);
      if (names === undefined && folder.path === root.path)
        problem ??= `${root.path} cannot be looked through by this user`;
      else if (names === undefined) found.cover.push({ path: folder.path, kind: 'folder' });
      else entries += sort(names, folder);
    };
    const sort = (names: Dirent[], { path, inGit }: { path: string; inGit: boolean }): number => {
      const counts = root.writable && !inGit;
      const isTop = path === root.path;
      const isBare = counts && !(isTop && root.mayBeRepository === true) && isRepository(names);
      if (isBare && isTop)
        problem ??= `${path} is itself a repository to git, which executes what its settings name`;
      if (isBare) found.repositories.push({ path, kind: 'folder' });
      // A decoded name says nothing of the file that has it.
      if (root.isPublic === true && names.some(({ name }) => name.includes('\ufffd'))) {
        if (isTop) problem ??= `${path} has something in it whose name is not UTF-8`;
        found.cover.push({ path, kind: 'folder' });
        return names.length;
      }
      for (const entry of names) {
        const one = `${path}/${entry.name}`;
        const kind = kindOf(entry);
        if (skip.has(one)) continue;
        // What a decoded name leads to may be something else, which a run has put there.
        if (/[\n\ufffd]/.test(entry.name) && (kind === 'odd' || kind === 'folder'))
          problem ??= `${path} has something in it whose name is not UTF-8, or has a line break`;
        if (kind === 'folder' && one.length > LONGEST)
          problem ??= `${root.path} has folders in it whose paths are too long to be mounted`;
        if (kind === 'odd') found.cover.push({ path: one, kind: 'file' });
        else if (root.isPublic === true && kind !== 'link' && !isForAll(one))
          found.cover.push({ path: one, kind });
        else {
          const isGit = counts && entry.name === '.git';
          if (isGit) found.repositories.push({ path: one, kind });
          if (kind === 'folder') waiting.push({ path: one, inGit: inGit || isGit || isBare });
        }
      }
      return names.length;
    };
    waiting.push({ path: root.path, inGit: false });
    while (waiting.length > 0) {
      await Promise.all(waiting.splice(-AT_ONCE).map(look));
      if (problem !== undefined) return { problem };
      const count = found.cover.length + found.repositories.length;
      if (entries > MOST_ENTRIES || count > MOST_FOUND)
        return {
          problem:
            count > MOST_FOUND
              ? `${root.path} has more than ${String(MOST_FOUND)} sockets, named pipes, repositories and private files in it`
              : `${root.path} has too many files in it to look through before a sandbox shows it (${String(MOST_ENTRIES)} at most)`,
        };
    }
  }
  return found;
}

/** What is in a folder; undefined where this user cannot look, and nothing where there is no folder. */
async function namesIn(folder: string): Promise<Dirent[] | undefined> {
  for (let times = 0; times < MOST_TIMES; times++) {
    try {
      // In a sandbox, root has no more rights than others.
      if (process.getuid?.() === 0 && !isOpen(folder)) return undefined;
      // By the dot, a folder has to be open for what is in it, too.
      return await readdir(`${folder}/.`, { withFileTypes: true });
    } catch (error) {
      // Where the file system does not say of what kind entries are, one of them may be gone by then.
      const isGone = hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
      if (!isGone) return undefined;
      if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    }
  }
  return undefined;
}

const MOST_TIMES = 5;

function kindOf(entry: Dirent): 'folder' | 'file' | 'link' | 'odd' {
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  return entry.isFile() ? 'file' : 'odd';
}

/** Whether git takes a folder for a repository without `.git`. */
function isRepository(names: readonly Dirent[]): boolean {
  const has = (name: string): boolean => names.some((entry) => entry.name === name);
  return !has('.git') && has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}

/** Whether whoever has no rights but those of its user may look through a folder. */
function isOpen(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const needs = found?.uid === process.getuid?.() ? 0o500 : 0o005;
  return found?.isDirectory() !== true || (found.mode & needs) === needs;
}

/** Whether every user of the machine may read a file, or enter a folder. */
function isForAll(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const needs = found?.isDirectory() === true ? 0o005 : 0o004;
  return found === undefined || (found.mode & needs) === needs;
}
