import type { Stats } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { atPath } from '../../at-path.ts';
import { CrosstalkError } from '../../errors.ts';
import { readPlainFile, tooLarge } from '../../plain-file.ts';

/**
 * Files of the clone's git directory. A run may be able to write them, so each is checked before it is
 * read, by us or by a git that we start: a named pipe would block us for ever, and a file of many
 * gigabytes would fill the memory. Symlinks are followed, as git does.
 */

/** Maximum bytes of a ref, of HEAD, or of the file that names a git directory: a path and a few characters. */
const SMALL = 8 * 1024;
const MAX_PACKED_REFS = 64 * 1024 * 1024;
const MAX_CONFIG = 1024 * 1024;
const MAX_LIST = 4 * 1024 * 1024;
/** Maximum number of folders with borrowed objects: a clone borrows from one or two, and each may name others. */
const MAX_ALTERNATES = 100;

/**
 * Reads a small file of a clone; empty without one.
 *
 * @throws CrosstalkError `git_failed` when something other than a plain file is there
 */
export function smallText(path: string): Promise<string> {
  return textIn(path, SMALL).then((text) => text ?? '');
}

/** Reads `packed-refs` of a clone; empty without one. */
export function packedText(commonDir: string): Promise<string> {
  return textIn(join(commonDir, 'packed-refs'), MAX_PACKED_REFS).then((text) => text ?? '');
}

/** Reads one of the longer lists of a clone; undefined without one. */
export function listText(path: string): Promise<string | undefined> {
  return textIn(path, MAX_LIST);
}

async function textIn(path: string, limit: number): Promise<string | undefined> {
  const found = await readPlainFile(path, limit);
  if (found.kind === 'odd') throw odd(path, found.why);
  return found.kind === 'text' ? found.text : undefined;
}

/** Whether a plain file is at a path; a folder does not count, and anything else is an error. */
export async function isPlain(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.isDirectory()) return false;
  if (!found.isFile()) throw odd(path, 'is no plain file');
  return true;
}

/** Whether anything is at a path. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether a symlink is at a path; we write nothing through symlinks. */
export function isLink(path: string): boolean {
  return atPath(path, { follow: false })?.isSymbolicLink() === true;
}

/** Returns the first folder on the way to a file of a git directory that is a symlink. */
export function linkOnTheWay(gitDir: string, name: string): string | undefined {
  const folders = dirname(name).split('/');
  for (let depth = 1; depth <= folders.length; depth++) {
    const path = join(gitDir, ...folders.slice(0, depth));
    if (isLink(path)) return path;
  }
  return undefined;
}

/**
 * Makes sure that git may read a clone's objects, by checking the files that name other folders with
 * objects.
 *
 * @throws CrosstalkError `git_failed`
 */
export async function checkAlternates(objectsDir: string): Promise<void> {
  const folders = new Set([objectsDir]);
  for (const folder of folders) {
    const path = join(folder, 'info', 'alternates');
    const lines = (await smallText(path)).split('\n');
    for (const line of lines.filter((one) => one !== '' && !one.startsWith('#'))) {
      // Git parses a path in quotes by rules of its own.
      if (line.startsWith('"')) throw odd(path, 'names a folder in quotes');
      folders.add(resolve(folder, line));
    }
    if (folders.size > MAX_ALTERNATES) throw odd(path, 'names too many folders');
  }
}

/**
 * Refuses a configuration that git must not read.
 *
 * @throws CrosstalkError `git_failed`
 */
export function checkConfig(path: string, found: Pick<Stats, 'isFile'> & { size: bigint }): void {
  if (!found.isFile()) throw odd(path, 'is no plain file');
  if (found.size > MAX_CONFIG) throw odd(path, tooLarge(found.size, MAX_CONFIG));
}

function odd(path: string, why: string): CrosstalkError {
  return new CrosstalkError(
    'git_failed',
    `${path} ${why}, and is not read; nothing is lost: see what has put it there, and put back what git had there: ls -l ${dirname(path)}`,
  );
}
