import { chmod, lstat, readdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { atPath } from '../../at-path.ts';

/** Permissions of the group and of others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** Returns this process's user; undefined when the system has none. */
function self(): number | undefined {
  return process.getuid?.();
}

/** Whether a file belongs to this user. */
export function isOwn(found: Pick<Stats, 'uid'>): boolean {
  return found.uid === (self() ?? found.uid);
}

/**
 * Returns the reason why somebody else may control a folder or socket (trust.md §5); undefined when
 * nobody else can. A symlink is not followed: whoever made it decides its target.
 *
 * @param allow `read` when others may read its content
 * @returns undefined too when there is nothing at `path`
 */
export function foreignHand(
  path: string,
  kind: 'folder' | 'socket',
  allow: 'nothing' | 'read' = 'nothing',
): string | undefined {
  const found = atPath(path, { follow: false });
  if (found === undefined) return undefined;
  if (kind === 'folder' ? !found.isDirectory() : !found.isSocket()) return `${path} is no ${kind}`;
  if (!isOwn(found)) return `${path} belongs to the user ${String(found.uid)}, not to you`;
  const others = found.mode & (allow === 'read' ? OTHERS_WRITE : OTHERS);
  return others === 0
    ? undefined
    : `${path} is open to other users (mode ${(found.mode & 0o777).toString(8)})`;
}

/** The names in a state directory. */
export interface StateNames {
  /** Names of its files; a file next to one of them has its name, followed by a dot or a dash, at its start. */
  files: readonly string[];
  /** Folders that contain only our files. */
  full: readonly string[];
  /** Folders that also contain what others made. */
  shared: readonly string[];
}

/** Folders that belong to everybody, or contain other things as well, even if CROSSTALK_STATE_DIR names them. */
const COMMON = new Set(['/', '/tmp', '/var/tmp', '/dev/shm', '/run', tmpdir(), homedir()]);

/**
 * Removes the permissions of other users from a state directory that was made with such permissions, by
 * hand or by an older version: from its content, and from the folder itself unless it contains other
 * things than ours. Files of another owner stay as they are.
 */
export async function tighten(root: string, names: StateNames): Promise<void> {
  const found = await lstat(root).catch(() => undefined);
  if (found?.isDirectory() !== true || !isOwn(found) || (found.mode & OTHERS) === 0) return;
  const there = await readdir(root).catch(() => undefined);
  if (there === undefined) return;
  const ours = there.filter((name) => isOneOf(name, names));
  for (const name of ours) {
    const path = join(root, name);
    if (names.full.includes(name) && (await openMode(path)) !== undefined) await closeAll(path);
    await close(path);
  }
  const isOthersToo = COMMON.has(root) || ours.length < there.length;
  if (!isOthersToo) await close(root);
}

/** A path that belongs to another user. */
export interface Foreign {
  path: string;
  uid: number;
}

const ROOT = 0;

/**
 * Finds a file that another user may have put into a state directory while that was open to others, under
 * any name. Root's files count as ours, since root may become anybody. Sockets are checked when they are
 * used; see {@link foreignHand}.
 *
 * @param shared names of folders whose content is not ours alone
 */
export async function foreignContent(
  folder: string,
  shared: readonly string[] = [],
): Promise<Foreign | undefined> {
  if (!(await mayOthersWrite(folder))) return undefined;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found =
      (await foreignAt(path)) ?? (shared.includes(name) ? undefined : await foreignContent(path));
    if (found !== undefined) return found;
  }
  return undefined;
}

async function foreignAt(path: string): Promise<Foreign | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSocket() || isOwn(found) || found.uid === ROOT)
    return undefined;
  return { path, uid: found.uid };
}

/** Whether others may write to a folder; a symlink is not followed. */
async function mayOthersWrite(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && (found.mode & OTHERS_WRITE) !== 0;
}

/** Names of lock files. */
const LOCK = /^[a-z]+\.(?:lock|guard)(?:\.|$)/;

/** Whether a name in a state directory is one of ours: with any other one in it, the folder is not ours alone. */
function isOneOf(name: string, { files, full, shared }: StateNames): boolean {
  if (LOCK.test(name) || full.includes(name) || shared.includes(name)) return true;
  return files.some(
    (file) =>
      name === file ||
      (['.', '-'].includes(name.slice(file.length, file.length + 1)) && name.startsWith(file)),
  );
}

/** Removes the permissions of others from everything in a folder; no symlink is followed. */
async function closeAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await closeAll(path);
    await close(path);
  }
}

/** Removes the permissions of others from a file or folder of ours. */
async function close(path: string): Promise<void> {
  const mode = await openMode(path);
  if (mode !== undefined) await chmod(path, mode & 0o777 & ~OTHERS).catch(() => undefined);
}

/** Returns the mode of a file or folder of ours that others have permissions for. */
async function openMode(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSymbolicLink() || !isOwn(found)) return undefined;
  return (found.mode & OTHERS) === 0 ? undefined : found.mode;
}
