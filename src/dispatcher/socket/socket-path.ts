import { readlinkSync, realpathSync } from 'node:fs';
import { mkdtemp, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { atPath } from '../../at-path.ts';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { foreignHand, isOwn } from '../../state/place/private.ts';

/*
 * The place of the dispatcher's socket. It is known by a path in the state directory. If that path
 * is too long for a socket, it is a symlink to a folder with a random name among the temporary
 * files. Nobody can create that folder first, because nobody knows its name, and only users who may
 * write to the state directory can create the symlink. Both ends check who owns the folder and the
 * socket before a byte is sent (trust.md §5).
 */

/** A unix socket's path may not be longer than this on every system. */
const MAX_SOCKET_PATH = 100;
const FOLDER = /^crosstalk-[A-Za-z0-9]{6}$/;

const isTooLong = (path: string): boolean => Buffer.byteLength(path) > MAX_SOCKET_PATH;

export type SocketPath =
  | { kind: 'found'; path: string }
  | { kind: 'none' }
  /** Another user may be listening, or could be. */
  | { kind: 'foreign'; problem: string };

/** Returns the address of the dispatcher whose socket is known by `path`. */
export function findSocket(path: string): SocketPath {
  const place = isTooLong(path) ? target(path) : path;
  const found = place === undefined ? undefined : atPath(place, { follow: false });
  if (place === undefined || found === undefined) return { kind: 'none' };
  const problem = foreignFolder(path, place) ?? foreignHand(place, 'socket');
  return problem === undefined ? { kind: 'found', path: place } : { kind: 'foreign', problem };
}

/**
 * Prepares the place for the socket that is known by `path`. The caller holds the dispatcher lock,
 * so the remains of a dead dispatcher are removed.
 *
 * @throws CrosstalkError `refused` where other users could take its place
 */
export async function makeSocketPath(path: string): Promise<string> {
  await makeFolder(dirname(path), 0o700);
  const problem = foreignFolder(path, path);
  if (problem !== undefined) {
    throw new CrosstalkError(
      'refused',
      `other users of this machine could answer in the dispatcher's place: ${problem}; make it yours alone, or name another state directory with CROSSTALK_STATE_DIR`,
    );
  }
  await removeSocket(path);
  if (!isTooLong(path)) return path;
  const place = join(await mkdtemp(join(shortest(), 'crosstalk-')), 'wake.sock');
  // Renaming keeps the symlink complete at any moment, for processes that are asking just now.
  await symlink(place, `${path}.new`);
  await rename(`${path}.new`, path);
  return place;
}

/** Removes the socket that is known by `path`, and the folder made for it. */
export async function removeSocket(path: string): Promise<void> {
  const place = target(path);
  await rm(path, { force: true });
  await rm(`${path}.new`, { force: true });
  if (place === undefined || foreignHand(dirname(place), 'folder') !== undefined) return;
  await rm(place, { force: true });
  await rmdir(dirname(place)).catch(() => undefined);
}

/** Returns the target of the symlink; undefined when this user has no symlink there. */
function target(path: string): string | undefined {
  const found = atPath(path, { follow: false });
  if (found?.isSymbolicLink() !== true || !isOwn(found)) return undefined;
  const place = or('', () => readlinkSync(path));
  return FOLDER.test(basename(dirname(place))) ? place : undefined;
}

function foreignFolder(path: string, place: string): string | undefined {
  const folder = dirname(path);
  const known = or(folder, () => realpathSync.native(folder));
  const problem = foreignHand(known, 'folder', 'read');
  return problem ?? (place === path ? undefined : foreignHand(dirname(place), 'folder'));
}

/** Returns the system's answer about a path; `otherwise` where it fails. */
function or(otherwise: string, look: () => string): string {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** Returns a folder for temporary files whose path is short enough. */
function shortest(): string {
  return isTooLong(join(tmpdir(), 'crosstalk-XXXXXX', 'wake.sock')) ? '/tmp' : tmpdir();
}
