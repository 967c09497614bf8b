import { readdir, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { transportAround } from '../locate.ts';

/** The nearest folder above that exists, without symlinks. */
async function realParent(dir: string): Promise<string> {
  for (let at = dirname(dir); ; at = dirname(at)) {
    const real = await realpath(at).catch(() => undefined);
    if (real !== undefined || at === dirname(at)) return real ?? at;
  }
}

/**
 * Makes sure that a new transport has room: a folder that does not exist or is empty, outside of any
 * other transport.
 *
 * @throws CrosstalkError `refused`
 */
export async function assertRoom(dir: string): Promise<void> {
  const around = transportAround(await realParent(dir));
  if (around !== undefined)
    throw new CrosstalkError(
      'refused',
      `${dir} lies inside the transport ${around}, and one inside another is of no use; name a folder outside: crosstalk init <dir>`,
    );
  let entries: string[];
  try {
    entries = await readdir(dir);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    if (hasCode(error, 'ENOTDIR'))
      throw new CrosstalkError('refused', `${dir} is not a folder; name another`);
    throw unusable(dir, error);
  }
  if (entries.includes('upstream')) {
    throw new CrosstalkError(
      'refused',
      `${dir} is a transport already; use it with: crosstalk status --transport ${dir}`,
    );
  }
  if (entries.length === 1 && entries[0] === '.git') {
    throw new CrosstalkError(
      'refused',
      `${dir} is a git repository without a commit, whose remote has some; get them first with: git pull`,
    );
  }
  if (entries.length > 0) {
    throw new CrosstalkError(
      'refused',
      `${dir} is not empty, it holds ${shown(entries[0])}; name a new or empty folder: crosstalk init <dir>`,
    );
  }
}

/** Says of an error of the system that it keeps a transport from being made here. */
export function unusable(dir: string, error: unknown): unknown {
  const { syscall } = error as { syscall?: unknown };
  if (error instanceof CrosstalkError || typeof syscall !== 'string') return error;
  return new CrosstalkError(
    'refused',
    `cannot make a transport at ${dir}: ${reasonOf(error)}; name another folder, or make this one yours and give it room: crosstalk init <dir>`,
    { cause: error },
  );
}
