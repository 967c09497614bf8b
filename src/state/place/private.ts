import { chmod, lstat, readdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { atPath } from '../../at-path.ts';

/** Rights of the group and of others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** This process's user; undefined where the system has none. */
function self(): number | undefined {
  return process.getuid?.();
}

/** Whether a file is this user's. */
export function isOwn(found: Pick<Stats, 'uid'>): boolean {
  return found.uid === (self() ?? found.uid);
}

/**
 * Why somebody else may control a folder or socket (trust.md §5); undefined when nobody else can. A
 * symlink is not followed: whoever made it decides where it leads.
 *
 * @param allow `read` where others may look into it
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

/** What a state directory holds. */
export interface StateNames {
  /** Names of its files; what is written beside them begins with such a name and a dot or a dash. */
  files: readonly string[];
  /** Folders that hold nothing but files of ours. */
  full: readonly string[];
  /** Folders that hold also what others made. */
  shared: readonly string[];
}

/**
 * Folders that are everybody's, or hold other things as well, whatever CROSSTALK_STATE_DIR says.
 */
const COMMON = new Set(['/', '/tmp', '/var/tmp', '/dev/shm', '/run', tmpdir(), homedir()]);

/**
 * Takes the rights of other users away from a state directory that was made with such rights, by
 * hand or by an older version: from what is in it, and from the folder itself unless it holds other
 * things than ours. What belongs to somebody else stays as it is.
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

/** Something that is another user's. */
export interface Foreign {
  path: string;
  uid: number;
}

const ROOT = 0;

/**
 * What another user may have put into a state directory while that was open to others, under whatever name. What
 * a user who may become anybody has made there counts as ours. A socket is left to whoever speaks to it; see
 * {@link foreignHand}.
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

/** Whether a folder may be written to by others; a symlink is not followed. */
async function mayOthersWrite(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && (found.mode & OTHERS_WRITE) !== 0;
}

/** What a process holds while it does something alone. */
const LOCK = /^[a-z]+\.(?:lock|guard)(?:\.|$)/;

/** Whether a name in a state directory is one of ours: with anything else in it, the folder is not ours alone. */
function isOneOf(name: string, { files, full, shared }: StateNames): boolean {
  if (LOCK.test(name) || full.includes(name) || shared.includes(name)) return true;
  return files.some(
    (file) =>
      name === file ||
      (['.', '-'].includes(name.slice(file.length, file.length + 1)) && name.startsWith(file)),
  );
}

/** Takes the rights of others away from all that is in a folder; no symlink is followed. */
async function closeAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await closeAll(path);
    await close(path);
  }
}

/** Takes the rights of others away from a file or folder of ours. */
async function close(path: string): Promise<void> {
  const mode = await openMode(path);
  if (mode !== undefined) await chmod(path, mode & 0o777 & ~OTHERS).catch(() => undefined);
}

/** The mode of a file or folder of ours that others have rights to. */
async function openMode(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSymbolicLink() || !isOwn(found)) return undefined;
  return (found.mode & OTHERS) === 0 ? undefined : found.mode;
}
