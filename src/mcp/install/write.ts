import { randomBytes } from 'node:crypto';
import { chmod, chown, open, readFile, readlink, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { lock } from 'proper-lockfile';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import type { SettingsPlan } from './plan.ts';

const MAX_LINKS = 20;
/** Of a lock that another program holds: a second in all. */
const RETRIES = { retries: 20, factor: 1, minTimeout: 50 };

/**
 * Writes the planned change completely or not at all: into a new file, which then replaces the old one, under a lock
 * that other programs know. A symlink stays, and its target is written; mode and owner stay.
 *
 * @throws CrosstalkError `refused` when the file has changed since it was read, or cannot be written
 */
export async function writePlan({ file, before, after }: SettingsPlan): Promise<void> {
  try {
    const target = await followed(file);
    await makeFolder(dirname(target));
    const old = await statOf(target);
    // Claude takes the same lock before it writes its settings.
    const unlock = await lock(target, { realpath: false, retries: RETRIES });
    const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      await writeNew(temporary, after, old === undefined ? 0o644 : old.mode & 0o7777);
      if (old !== undefined) await adopt(temporary, old);
      if ((await textOf(target)) !== before)
        throw new CrosstalkError('refused', 'somebody has just changed it; try again');
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    } finally {
      await unlock().catch(() => undefined);
    }
  } catch (error) {
    throw new CrosstalkError('refused', `${file} was not written: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Returns the end of a chain of symlinks, which need not exist. */
async function followed(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    const to = await readlink(at).catch(() => undefined);
    if (to === undefined) return at;
    at = resolve(dirname(at), to);
  }
  throw new Error(`too many symlinks`);
}

interface Owned {
  mode: number;
  uid: number;
  gid: number;
}

async function statOf(path: string): Promise<Owned | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function writeNew(path: string, content: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Gives a new file the owner and the mode of the old one, because the umask may have restricted its
 * mode.
 */
async function adopt(path: string, { mode, uid, gid }: Owned): Promise<void> {
  const fresh = await stat(path);
  if (fresh.uid !== uid || fresh.gid !== gid) await chown(path, uid, gid);
  await chmod(path, mode & 0o7777);
}
