import {
  lstat,
  mkdir,
  mkdtemp,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { foreignHand, isOwn } from '../../state/private.ts';

/*
 * Where the dispatcher's socket is. It is known by a path in the state directory. Where that is too
 * long for a socket, a symlink stands there, and leads to a folder with a random name for temporary
 * files. Nobody can make that folder first, as nobody knows its name, and only who may write to the
 * state directory can make the symlink. Both ends look whose the folder and the socket are before a
 * byte is sent (trust.md §5).
 */

/** A unix socket's path may not be longer than this everywhere. */
const MAX_SOCKET_PATH = 100;
const FOLDER = /^crosstalk-[A-Za-z0-9]{6}$/;

const isTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_SOCKET_PATH;

export type Ear =
  | { kind: 'found'; path: string }
  | { kind: 'none' }
  /** Somebody else may be listening, or could. */
  | { kind: 'foreign'; problem: string };

/** Where to ask the dispatcher whose socket is known by `path`. */
export async function findEar(path: string): Promise<Ear> {
  const place = isTooLong(path) ? await target(path) : path;
  const found = place === undefined ? undefined : await lstat(place).catch(() => undefined);
  if (place === undefined || found === undefined) return { kind: 'none' };
  const problem = (await foreignFolder(path, place)) ?? (await foreignHand(place, 'socket'));
  return problem === undefined ? { kind: 'found', path: place } : { kind: 'foreign', problem };
}

/**
 * Makes the place for the socket that is known by `path`. The caller holds the dispatcher lock, so
 * what a dispatcher that died has left there is removed.
 *
 * @throws CrosstalkError `refused` where other users could take its place
 */
export async function makeEar(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const problem = await foreignFolder(path, path);
  if (problem !== undefined) {
    throw new CrosstalkError(
      'refused',
      `other users of this machine could answer in the dispatcher's place: ${problem}; make it yours alone, or name another state directory with CROSSTALK_STATE_DIR`,
    );
  }
  await removeEar(path);
  if (!isTooLong(path)) return path;
  const place = join(await mkdtemp(join(shortest(), 'crosstalk-')), 'wake.sock');
  // Whole at any moment, for those who are asking just now.
  await symlink(place, `${path}.new`);
  await rename(`${path}.new`, path);
  return place;
}

/** Removes the socket that is known by `path`, and the folder made for it. */
export async function removeEar(path: string): Promise<void> {
  const place = await target(path);
  await rm(path, { force: true });
  await rm(`${path}.new`, { force: true });
  if (place === undefined || (await foreignHand(dirname(place), 'folder')) !== undefined) return;
  await rm(place, { force: true });
  await rmdir(dirname(place)).catch(() => undefined);
}

/** Where the symlink leads; undefined when there is none of ours. */
async function target(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() !== true || !isOwn(found)) return undefined;
  const place = await readlink(path).catch(() => '');
  return FOLDER.test(basename(dirname(place))) ? place : undefined;
}

async function foreignFolder(path: string, place: string): Promise<string | undefined> {
  const known = await realpath(dirname(path)).catch(() => dirname(path));
  const problem = await foreignHand(known, 'folder', 'read');
  return problem ?? (place === path ? undefined : foreignHand(dirname(place), 'folder'));
}

/** A folder for temporary files with a path short enough. */
function shortest(): string {
  return isTooLong(join(tmpdir(), 'crosstalk-XXXXXX', 'wake.sock')) ? '/tmp' : tmpdir();
}
