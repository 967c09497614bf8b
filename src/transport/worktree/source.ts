import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { findClone, type Clone } from '../clone/clone.ts';
import { headOf, OID, readRef } from '../clone/refs.ts';
import { smallText } from '../clone/clone-file.ts';

/**
 * The repository of which threads get copies. Nothing in it is executed to find it.
 *
 * @throws CrosstalkError `invalid` for a folder that is not the top of a git repository
 */
export async function findSource(path: string): Promise<Clone> {
  const found = await findClone(path).catch((error: unknown) => {
    if (error instanceof CrosstalkError && error.code === 'not_found') return undefined;
    throw error;
  });
  const real = await realpath(path).catch(() => path);
  if (found === undefined || ![found.dir, found.gitDir].includes(real)) {
    const top = found === undefined ? '' : `; the repository it is in is ${found.dir}`;
    throw new CrosstalkError(
      'invalid',
      `the repository ${shown(path)} of which each thread is to get a copy is not the top of a git repository${top}`,
    );
  }
  return found;
}

/** What copies of a repository are called, after its folder. */
export function nameOf({ dir }: Clone): string {
  const name = basename(dir)
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-');
  return /^[A-Za-z0-9]/.test(name) ? name.slice(0, 64) : 'repository';
}

/**
 * The commit, or the tag, with which a copy begins.
 *
 * @param from a branch, a tag or a remote branch; by default what is checked out
 * @throws CrosstalkError `invalid` when there is none
 */
export async function startOf(source: Clone, from: string | undefined): Promise<string> {
  const head = from === undefined ? await headOf(source) : undefined;
  const names = head === undefined ? namesFor(from) : [head];
  for (const name of names) {
    const oid = await readRef(source, name);
    if (oid !== undefined) return oid;
  }
  const detached = from === undefined ? (await smallText(join(source.gitDir, 'HEAD'))).trim() : '';
  if (OID.test(detached)) return detached;
  throw new CrosstalkError(
    'invalid',
    from === undefined
      ? `the repository ${source.dir} has no commit yet; make one, or name a branch with worktree_from`
      : `the repository ${source.dir} has no branch or tag ${shown(from)}, which worktree_from names`,
  );
}

function namesFor(from: string | undefined): string[] {
  if (from === undefined) return [];
  return ['refs/heads/', 'refs/tags/', 'refs/remotes/'].map((prefix) => `${prefix}${from}`);
}

/** The last commit of a branch of a repository; undefined where there is none. */
export function branchTip(source: Clone, branch: string): Promise<string | undefined> {
  return readRef(source, `refs/heads/${branch}`);
}

/** Which work tree of a repository has a branch checked out, if any has. */
export async function checkedOutAt(source: Clone, ref: string): Promise<string | undefined> {
  const { commonDir } = source;
  const main = { ...source, gitDir: commonDir };
  if ((await headOf(main)) === ref) return dirname(commonDir);
  const linked = join(commonDir, 'worktrees');
  for (const name of await readdir(linked).catch(() => []))
    if ((await headOf({ ...source, gitDir: join(linked, name) })) === ref) {
      const place = (await smallText(join(linked, name, 'gitdir'))).trim();
      return place === '' ? join(linked, name) : dirname(place);
    }
  return undefined;
}
