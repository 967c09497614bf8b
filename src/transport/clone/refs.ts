import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  fsync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { lstat, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { atPath } from '../../at-path.ts';
import { hasCode, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { randomOfSystem } from '../../random.ts';
import type { Clone } from './clone.ts';
import { linkOnTheWay, packedText, smallText } from './clone-file.ts';

/** Pattern of an object's name, in any format. */
export const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const MAX_LINKS = 5;

/** The place of a repository's refs: in the operator's clone, or in our own git directory. */
export type RefPlace = Pick<Clone, 'dir' | 'gitDir' | 'commonDir'> & {
  /** Whether only the owner may read new files there, whatever the umask is. */
  isPrivate?: boolean;
};

/** The one asynchronous step, as it waits for the disk. */
const synced = promisify(fsync);

const LOCK_TRIES = 10;
const LOCK_WAIT_MS = 50;
/**
 * Milliseconds after which the lock of a ref is stale. Git holds one for milliseconds; an older one that
 * is still there after half a second belongs to a git that was killed. A git that was suspended together
 * with us has released it by then.
 */
const STALE_LOCK_MS = 10_000;

/**
 * Reads the commit that a ref of the operator's clone names; undefined when there is none. It is read
 * from git's files, because a git started in the clone obeys the clone's configuration.
 *
 * @throws CrosstalkError `git_failed` when something other than a plain file is there
 */
export async function readRef(clone: RefPlace, name: string): Promise<string | undefined> {
  let wanted = name;
  for (let links = 0; links < MAX_LINKS; links++) {
    const folder = wanted.startsWith('refs/') ? clone.commonDir : clone.gitDir;
    const text = (await smallText(join(folder, wanted))).trim();
    if (text.startsWith('ref: refs/')) wanted = text.slice('ref: '.length);
    else return OID.test(text) ? text : packedRef(clone, wanted);
  }
  return undefined;
}

/** Returns the branch that HEAD of the clone names, such as `refs/heads/main`; undefined when it names none. */
export async function headOf({ gitDir }: Clone): Promise<string | undefined> {
  const text = (await smallText(join(gitDir, 'HEAD'))).trim();
  return text.startsWith('ref: refs/') ? text.slice('ref: '.length) : undefined;
}

async function packedRef({ commonDir }: RefPlace, name: string): Promise<string | undefined> {
  const packed = await packedText(commonDir);
  const at = packed.indexOf(` ${name}\n`);
  const oid = at < 0 ? '' : packed.slice(packed.lastIndexOf('\n', at) + 1, at);
  return OID.test(oid) ? oid : undefined;
}

/** The outcome of {@link writeRef}: another git may hold the lock, or have moved the ref. */
export type RefWritten = { ok: true } | { ok: false; reason: string; contention: boolean };

/**
 * Moves a ref of the operator's clone, in git's own way of locking it but without git, so that no hook of
 * the clone runs.
 *
 * @param from the commit that the ref must name now; undefined for any commit, empty for none
 */
export async function writeRef(
  clone: RefPlace,
  name: string,
  to: string,
  from?: string,
): Promise<RefWritten> {
  const path = join(clone.commonDir, name);
  const lock = `${path}.lock`;
  const failed = (reason: string, { contention }: { contention: boolean }): RefWritten => ({
    ok: false,
    reason,
    contention,
  });
  const link = linkOnTheWay(clone.commonDir, name);
  if (link !== undefined)
    return failed(`${link} is a symlink, and nothing is written through it`, { contention: false });
  for (let tries = 1; ; tries++) {
    const taken = await takeLock(lock, clone.isPrivate);
    if (taken === 'locked') {
      const isGone = tries >= LOCK_TRIES && (await removeStaleLock(lock));
      // One more try for a lock that has just been removed.
      if (tries > LOCK_TRIES || (tries === LOCK_TRIES && !isGone))
        return failed(`${lock} exists: another git holds it`, { contention: true });
      if (!isGone) await sleep(LOCK_WAIT_MS);
      continue;
    }
    if (typeof taken === 'string') return failed(taken, { contention: false });
    let kept = true;
    try {
      const now = await readRef(clone, name);
      if (from !== undefined && (now ?? '') !== from)
        return failed(`${name} has moved on in ${clone.dir}`, { contention: true });
      writeFileSync(taken, `${to}\n`);
      await synced(taken);
      // An empty folder of a deleted branch may be in the way.
      removeEmpty(path);
      if (!isOf(taken, lock)) {
        kept = false;
        return failed(`${lock} was taken away by another process`, { contention: true });
      }
      renameSync(lock, path);
      kept = false;
      return { ok: true };
    } catch (error) {
      // ENOENT: another process has just removed our lock, taking it for the stale one.
      return failed(`${name} cannot be written: ${reasonOf(error)}`, {
        contention: hasCode(error, 'ENOENT'),
      });
    } finally {
      closeSync(taken);
      if (kept) rmSync(lock, { force: true });
    }
  }
}

/**
 * Writes a move to the reflog of a branch, where the operator's own git finds the old commit: for a move
 * to another history. When something other than a plain file is in the place of the log, nothing is
 * written.
 */
export async function noteMove(
  { commonDir, isPrivate }: RefPlace,
  name: string,
  from: string,
  to: string,
  why: string,
): Promise<void> {
  const log = join('logs', name);
  if (linkOnTheWay(commonDir, log) !== undefined) return;
  const at = `${String(Math.floor(Date.now() / 1000))} +0000`;
  const line = `${from} ${to} crosstalk <crosstalk@crosstalk.local> ${at}\t${why}\n`;
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  let file: number | undefined;
  try {
    const modes = modesOf(isPrivate);
    await makeFolder(dirname(join(commonDir, log)), modes.folder);
    // With this flag the open call of a named pipe returns or fails at once.
    file = openSync(join(commonDir, log), flags, modes.file);
    if (fstatSync(file).isFile()) appendFileSync(file, line);
  } catch {
    // The move is made; git's own log of it is optional.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Takes a lock: returns the open file, `locked` when another process has it, or the reason why it cannot
 * be made.
 */
async function takeLock(lock: string, isPrivate?: boolean): Promise<number | string> {
  const modes = modesOf(isPrivate);
  try {
    await makeFolder(dirname(lock), modes.folder);
    return openSync(lock, 'wx', modes.file);
  } catch (error) {
    return hasCode(error, 'EEXIST') ? 'locked' : `${lock} cannot be made: ${reasonOf(error)}`;
  }
}

function modesOf(isPrivate = false): { file: number; folder: number } {
  return isPrivate ? { file: 0o600, folder: 0o700 } : { file: 0o644, folder: 0o777 };
}

/** Whether a lock is still the file that we made. */
function isOf(taken: number, lock: string): boolean {
  return atPath(lock, { follow: true })?.ino === fstatSync(taken).ino;
}

/** Removes a folder if it is empty. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Usually nothing is there; a folder with content stays.
  }
}

/**
 * Removes the lock of a ref if the git that made it was killed; returns whether it is gone. One process
 * at a time does so, and checks again first, so that it cannot remove a new lock of another process.
 *
 * @param oldest milliseconds after which no process holds it any more
 */
export async function removeStaleLock(lock: string, oldest = STALE_LOCK_MS): Promise<boolean> {
  if (!(await isStale(lock, oldest))) return false;
  // Git does not take a file of such a name for a ref.
  const alone = `${lock.slice(0, -'.lock'.length)}.stale.lock`;
  if (await isStale(alone, STALE_LOCK_MS)) await rm(alone, { force: true });
  const taken = await takeLock(alone);
  if (typeof taken !== 'number') return false;
  closeSync(taken);
  try {
    if (!(await isStale(lock, oldest))) return false;
    // Anything other than a file, such as a folder that somebody made, stays under another name.
    const aside = `${lock.slice(0, -'.lock'.length)}.${randomOfSystem(4).toString('hex')}.lock`;
    await rename(lock, aside);
    await rm(aside, { force: true }).catch(() => rmdir(aside).catch(() => undefined));
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true;
    throw error;
  } finally {
    await rm(alone, { force: true });
  }
}

/** Whether a lock is too old, or dated in the future, which means that the clock was ahead when it was made. */
async function isStale(lock: string, oldest: number): Promise<boolean> {
  const { mtimeMs } = await lstat(lock).catch(() => ({ mtimeMs: Date.now() }));
  return Math.abs(Date.now() - mtimeMs) > oldest;
}
