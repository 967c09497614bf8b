import { lstatSync, type Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** A folder or file that is searched before a sandbox shows it. */
export interface Root {
  path: string;
  /** Whether runs may write there, so that repositories count. */
  writable: boolean;
  /** Whether an operator has named it as a place to write even though git takes it for a repository. */
  mayBeRepository?: boolean;
  /** Whether only entries that every user of the machine may read are shown. */
  isPublic?: boolean;
}

/** Entries that a sandbox must not show unchanged. */
export interface Survey {
  /** Sockets, named pipes, and entries that are not public: files, and folders that cannot be searched. */
  cover: { path: string; kind: 'folder' | 'file' }[];
  /** Git directories, and files that point to one; for a bare repository the folder itself. */
  repositories: { path: string; kind: 'folder' | 'file' | 'link' }[];
}

/** Most entries that are examined, which takes some seconds. */
const MOST_ENTRIES = 500_000;
/** Most findings; each is a mount, of which bubblewrap accepts some thousands. */
const MOST_FOUND = 1000;
/** Longest path in characters, so that the kernel accepts it as one argument. */
const LONGEST = 1000;
/** Number of folders that are read concurrently. */
const AT_ONCE = 16;

/**
 * Searches folders for entries that a sandbox must not show: a read-only mount does not prevent connecting to a socket
 * below it, and git executes programs that a repository names. No symlink is followed.
 *
 * @param roots none of them below another one that is not searched as it is
 * @param skip folders that are not entered
 * @returns a problem if there are too many entries
 */
export async function survey(
  roots: readonly Root[],
  skip: ReadonlySet<string>,
): Promise<Survey | { problem: string }> {
  const found: Survey = { cover: [], repositories: [] };
  let entries = 0;
  let problem: string | undefined;
  for (const root of roots) {
    /** Folders to search, and whether they are in a git directory. */
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
      // Lossy decoding makes the name useless for finding the file.
      if (root.isPublic === true && names.some(({ name }) => name.includes('\ufffd'))) {
        if (isTop) problem ??= `${path} has something in it whose name is not UTF-8`;
        found.cover.push({ path, kind: 'folder' });
        return names.length;
      }
      for (const entry of names) {
        const one = `${path}/${entry.name}`;
        const kind = kindOf(entry);
        if (skip.has(one)) continue;
        // A lossily decoded name may lead to another entry, which a run has put there.
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

/** Lists a folder; undefined if this user may not read it, and nothing if it is gone or not a folder. */
async function namesIn(folder: string): Promise<Dirent[] | undefined> {
  for (let times = 0; times < MOST_TIMES; times++) {
    try {
      // In a sandbox, root has no more rights than others.
      if (process.getuid?.() === 0 && !isOpen(folder)) return undefined;
      // The dot requires the permission to enter the folder, which its entries need too.
      return await readdir(`${folder}/.`, { withFileTypes: true });
    } catch (error) {
      // If the file system does not report the kinds of entries, one of them may be gone by the time of its lookup.
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

/** Whether a process without root's privileges may search a folder. */
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
