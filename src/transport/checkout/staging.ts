import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { atPath } from '../../at-path.ts';
import { hasCode } from '../../errors.ts';
import { isPlain } from '../clone/clone-file.ts';
import { fileStamp } from '../clone/clone.ts';
import type { Repository } from '../clone/handle.ts';
import type { GitOutcome } from '../git/git.ts';
import type { FileChange } from '../objects/walk.ts';
import { onCheckout, stagingFolder } from './on-checkout.ts';

/** A staged checkout: git writes a new index, and the files that arrive, into a folder of their own. */
export interface Staging {
  index: string;
  tree: string;
  /** Stamp of the clone's index that this one replaces; it changes with every write. */
  stamp: string;
}

/**
 * Has git bring a copy of the index from one commit to another. For git the copy belongs to an empty work
 * tree: it writes the files that change or arrive there, and compares none. All of it is in the git
 * directory of the clone, so that a file of it need only be renamed.
 */
export async function stage(
  repository: Repository,
  from: string,
  to: string,
  showing: { cone: boolean; changes: boolean },
): Promise<GitOutcome & { staging: Staging }> {
  const tree = stagingFolder(repository);
  const index = join(repository.clone.gitDir, 'index');
  const staging = { tree, index: `${tree}.index`, stamp: await fileStamp(index) };
  clearStaging(staging);
  mkdirSync(tree);
  if (await isPlain(index)) copyFileSync(index, staging.index);
  const args = ['read-tree', '-m', '-u', from, to];
  return { ...(await onCheckout(repository, args, showing, staging)), staging };
}

/** Removes the staged files. */
export function clearStaging({ tree, index }: Staging): void {
  for (const path of [tree, index, `${index}.lock`, `${tree}.link`])
    rmSync(path, { recursive: true, force: true });
}

/** Files that may be overwritten in a checkout, because they are the bus's own. */
export interface Old {
  /** Files that are replaced by others. */
  replaced: ReadonlySet<string>;
  /** Files, and folders of submodules, that are removed. */
  gone: ReadonlySet<string>;
}

/**
 * Lists the paths to be renamed into the checkout: files, and folders that are new as a whole; or returns
 * the first obstacle that is not of the bus: at the path itself, in the place of a folder on the way to
 * it, or in a folder that becomes a file.
 */
export function arrivals(
  staging: Staging,
  dir: string,
  old: Old,
  folder = '',
): { ok: true; paths: string[] } | { ok: false; inTheWay: string } {
  const { tree } = staging;
  const paths: string[] = [];
  for (const entry of readdirSync(join(tree, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const [isFolder, there] = [entry.isDirectory(), atPath(join(dir, path), { follow: false })];
    if (isFolder && there?.isDirectory() === true) {
      const inside = arrivals(staging, dir, old, path);
      if (!inside.ok) return inside;
      for (const one of inside.paths) paths.push(one);
      continue;
    }
    const isOld = there === undefined || old.gone.has(path);
    const found = there?.isDirectory() === true ? firstInside(dir, path, old.gone) : path;
    if (found !== undefined && !isOld)
      if (isFolder || !(old.replaced.has(found) || isSame(join(tree, path), join(dir, path))))
        return { ok: false, inTheWay: found };
    paths.push(path);
  }
  return { ok: true, paths };
}

/** Finds the first file below a folder that is not going to be removed. */
function firstInside(dir: string, folder: string, gone: ReadonlySet<string>): string | undefined {
  for (const entry of readdirSync(join(dir, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const found = entry.isDirectory() ? firstInside(dir, path, gone) : path;
    if (found !== undefined && !gone.has(found)) return found;
  }
  return undefined;
}

/** Whether a plain file has the content of another. */
function isSame(staged: string, file: string): boolean {
  const [one, other] = [lstatSync(staged), lstatSync(file)];
  if (!one.isFile() || !other.isFile() || one.size !== other.size) return false;
  return readFileSync(staged).equals(readFileSync(file));
}

/** Number of paths handled before other work of this process gets a turn. */
const AT_A_TIME = 200;

/** Returns a stamp that changes whenever a file is written or replaced; undefined without a file. */
export function stampOf(file: string): string | undefined {
  try {
    const there = lstatSync(file, { bigint: true });
    return [there.ino, there.size, there.mtimeNs, there.ctimeNs].join(' ');
  } catch {
    return undefined;
  }
}

/**
 * Returns the stamps of the files that may be overwritten: taken before git checks whether the operator
 * changed them.
 */
export function stampsOf(
  dir: string,
  { replaced, gone }: Old,
): ReadonlyMap<string, string | undefined> {
  return new Map([...replaced, ...gone].map((path) => [path, stampOf(join(dir, path))]));
}

/**
 * Moves the staged files into the checkout. Each file is the old one or the new one at any moment.
 * Nothing is removed through a symlink, nor any file whose stamp is not the one in `seen`.
 *
 * @returns false when the operator has made or changed one of the files in the meantime
 */
export async function moveIn(
  { tree }: Staging,
  dir: string,
  {
    gone,
    seen,
    paths,
  }: {
    gone: Iterable<string>;
    seen: ReadonlyMap<string, string | undefined>;
    paths: readonly string[];
  },
): Promise<boolean> {
  let count = 0;
  const isAsSeen = (path: string): boolean => {
    const stamp = stampOf(join(dir, path));
    return stamp === undefined || stamp === seen.get(path);
  };
  for (const path of gone) {
    if (++count % AT_A_TIME === 0) await setImmediate();
    if (!isAsSeen(path)) return false;
    remove(dir, path);
  }
  for (const path of paths) {
    if (++count % AT_A_TIME === 0) await setImmediate();
    const [staged, target] = [join(tree, path), join(dir, path)];
    if (atPath(target, { follow: false })?.isDirectory() === true) removeEmpty(target);
    else if (!isAsSeen(path) && !isSame(staged, target)) return false;
    put(staged, target);
  }
  return true;
}

function put(staged: string, target: string): void {
  try {
    renameSync(staged, target);
  } catch (error) {
    if (!hasCode(error, 'EXDEV')) throw error;
    // The folder is on another disk than the git directory.
    const beside = mkdtempSync(join(dirname(target), '.crosstalk-'));
    try {
      cpSync(staged, join(beside, 'copy'), { recursive: true });
      renameSync(join(beside, 'copy'), target);
    } finally {
      rmSync(beside, { recursive: true, force: true });
    }
  }
}

/** Removes a file, or the folder of a submodule, and the folders above it that are then empty. */
function remove(dir: string, path: string): void {
  const file = join(dir, path);
  const there = atPath(file, { follow: false });
  if (there === undefined || !isWithin(dir, path)) return;
  if (!there.isDirectory()) rmSync(file);
  let folder = there.isDirectory() ? file : dirname(file);
  try {
    for (; folder !== dir; folder = dirname(folder)) rmdirSync(folder);
  } catch {
    // The folder is not empty.
  }
}

/** Removes a folder that contains nothing but folders. */
function removeEmpty(folder: string): void {
  for (const name of readdirSync(folder)) removeEmpty(join(folder, name));
  rmdirSync(folder);
}

/** Whether no folder on the way to a path is a symlink. */
function isWithin(dir: string, path: string): boolean {
  return (
    realpathSync.native(dirname(join(dir, path))) === dirname(join(realpathSync.native(dir), path))
  );
}

/**
 * Makes staged or checked-out files plain: no executable bit, and in the place of a symlink the text of
 * the link, as git writes it with core.symlinks=false (trust.md §1). 6.0.0 and a plain `git clone` have
 * written both.
 *
 * @param files the files of the bus at these paths; a link with another text is not what arrived
 */
export function makePlain(
  { tree }: Staging,
  dir: string,
  files: readonly Pick<FileChange, 'path' | 'oid'>[],
): void {
  for (const { path, oid } of files) {
    const file = join(dir, path);
    const found = atPath(file, { follow: false });
    if (found === undefined || !isWithin(dir, path)) continue;
    if (found.isSymbolicLink()) {
      const text = readlinkSync(file, { encoding: 'buffer' });
      if (blobId(text, oid.length) !== oid) continue;
      const plain = `${tree}.link`;
      writeFileSync(plain, text, { mode: 0o644, flag: 'wx' });
      put(plain, file);
    } else if (found.isFile() && (found.mode & 0o111) !== 0) chmodSync(file, found.mode & 0o666);
  }
}

/**
 * Whether a path is a plain file with the content of a blob, also where the operator's git writes its line
 * ends as CRLF.
 */
export function holds(file: string, { oid, size }: { oid: string; size?: number }): boolean {
  const there = atPath(file, { follow: false });
  if (there?.isFile() !== true || there.size > 2 * (size ?? there.size)) return false;
  const content = readFileSync(file);
  if (blobId(content, oid.length) === oid) return true;
  const text = content.toString('latin1');
  return (
    !/(?<!\r)\n/.test(text) &&
    blobId(Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1'), oid.length) === oid
  );
}

function blobId(content: Buffer, length: number): string {
  return createHash(length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${String(content.length)}\0`)
    .update(content)
    .digest('hex');
}
