import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { packedText } from '../clone/clone-file.ts';
import type { Clone } from '../clone/clone.ts';
import { OID, readRef } from '../clone/refs.ts';
import type { Git } from '../git/git.ts';

/** A remote with more branches and tags is known by so many of them. */
const MOST_REFS = 20_000;

/**
 * Commits that are at a remote of a repository: what it has now, and what its branches had when they were
 * fetched last. A repository need not have all of them.
 *
 * @param git of ours, whose `origin` is that remote
 * @throws CrosstalkError `git_failed` when the remote does not answer
 */
export async function commitsAt(
  git: Git,
  source: Clone,
  remote: string,
  signal: AbortSignal,
): Promise<string[]> {
  const listed = await git.must(['ls-remote', '--quiet', 'origin'], { network: true, signal });
  const now = listed
    .toString('latin1')
    .split('\n')
    .map((line) => line.split('\t', 1)[0] ?? '');
  const tracked = await refsBelow(source, `refs/remotes/${remote}`);
  return [...new Set([...now, ...tracked.values()])]
    .filter((oid) => OID.test(oid))
    .slice(0, MOST_REFS);
}

/** A repository with more refs in files of their own is not read. */
const MOST_FILES = 1_000_000;

/**
 * The refs of a repository below a prefix, with what each names; read from its files, as {@link readRef} does.
 *
 * @throws CrosstalkError `git_failed` where there is something else than refs, or too many
 */
export async function refsBelow(clone: Clone, prefix: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const line of (await packedText(clone.commonDir)).split('\n')) {
    const [oid = '', name = ''] = line.split(' ');
    if (name.startsWith(`${prefix}/`)) found.set(name, oid);
  }
  const folders = [prefix];
  let files = 0;
  for (const folder of folders)
    for (const entry of await readdir(join(clone.commonDir, folder), {
      withFileTypes: true,
    }).catch(() => [])) {
      const name = `${folder}/${entry.name}`;
      if (++files > MOST_FILES)
        throw new CrosstalkError('git_failed', `${clone.dir} has too many refs to be looked at`);
      if (entry.isDirectory()) folders.push(name);
      else if (!name.endsWith('.lock')) {
        const oid = await readRef(clone, name);
        if (oid !== undefined) found.set(name, oid);
      }
    }
  return found;
}
