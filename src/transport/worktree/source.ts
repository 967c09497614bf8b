import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { findClone, type Clone } from '../clone/clone.ts';
import { headOf, OID, readRef } from '../clone/refs.ts';
import { packedText, smallText } from '../clone/clone-file.ts';

/**
 * Finds the repository that threads get copies of. Nothing in it is executed for this.
 *
 * @throws CrosstalkError `invalid` for a folder that is not the top of a git repository, or one whose
 *   branches are not in files
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
  if ((await headOf(found)) === NOT_IN_FILES)
    throw new CrosstalkError(
      'invalid',
      `the repository ${found.dir} keeps its branches in the reftable format, of which no copies can be made; convert it with: git -C ${found.dir} refs migrate --ref-format=files`,
    );
  return found;
}

/** Value of HEAD in a repository that keeps its branches in a format other than files. */
export const NOT_IN_FILES = 'refs/heads/.invalid';

/** Returns the name for copies of a repository, after its folder. */
export function nameOf({ dir }: Clone): string {
  const name = basename(dir)
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-');
  return /^[A-Za-z0-9]/.test(name) ? name.slice(0, 64) : 'repository';
}

/**
 * Finds the commit, or the tag, that a copy starts from.
 *
 * @param from a branch, a tag or a remote branch; by default the checked-out one
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

/** Returns the last commit of a branch of a repository; undefined without one. */
export function branchTip(source: Clone, branch: string): Promise<string | undefined> {
  return readRef(source, `refs/heads/${branch}`);
}

/**
 * Finds the branch of a repository that excludes another one, if there is one: with `a` there can be no
 * `a/b`, and the other way round. Both its files and the list of packed branches are checked, as in git.
 */
export async function branchInTheWay(source: Clone, ref: string): Promise<string | undefined> {
  const parts = ref.split('/');
  for (let depth = 3; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/');
    if ((await readRef(source, above)) !== undefined) return above;
  }
  const packed = await packedText(source.commonDir);
  const at = packed.indexOf(` ${ref}/`);
  return at < 0 ? undefined : packed.slice(at + 1).split('\n', 1)[0];
}

/**
 * Finds the work tree of a repository that has a branch checked out, or is rebasing or bisecting it, if
 * there is one.
 */
export async function checkedOutAt(source: Clone, ref: string): Promise<string | undefined> {
  const { commonDir } = source;
  const main = { ...source, gitDir: commonDir };
  if (await isAtWork(main, ref)) return dirname(commonDir);
  const linked = join(commonDir, 'worktrees');
  for (const name of await readdir(linked).catch(() => []))
    if (await isAtWork({ ...source, gitDir: join(linked, name) }, ref)) {
      const place = (await smallText(join(linked, name, 'gitdir'))).trim();
      return place === '' ? join(linked, name) : dirname(place);
    }
  return undefined;
}

/**
 * Files in which git notes the branch that it will move at the end of a rebase; HEAD names none in the
 * meantime.
 */
const REBASED = ['rebase-merge/head-name', 'rebase-apply/head-name'];

async function isAtWork(clone: Clone, ref: string): Promise<boolean> {
  if ((await headOf(clone)) === ref) return true;
  for (const name of REBASED)
    if ((await smallText(join(clone.gitDir, name))).trim() === ref) return true;
  const bisected = (await smallText(join(clone.gitDir, 'BISECT_START'))).trim();
  return `refs/heads/${bisected}` === ref;
}
