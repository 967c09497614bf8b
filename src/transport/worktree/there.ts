import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
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
  const tracked = await trackedOf(source, `refs/remotes/${remote}`);
  return [...new Set([...now, ...tracked])].filter((oid) => OID.test(oid)).slice(0, MOST_REFS);
}

async function trackedOf(source: Clone, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for (const line of (await packedText(source.commonDir)).split('\n')) {
    const [oid = '', name = ''] = line.split(' ');
    if (name.startsWith(`${prefix}/`)) found.push(oid);
  }
  const folders = [prefix];
  for (const folder of folders)
    for (const entry of await readdir(join(source.commonDir, folder), {
      withFileTypes: true,
    }).catch(() => [])) {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) found.push((await readRef(source, name)) ?? '');
      if (found.length + folders.length > MOST_REFS) return found;
    }
  return found;
}
