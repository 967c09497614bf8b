import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeInWords } from '../../protocol/attached.ts';
import { Worktrees } from '../../state/worktrees.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';

/** A folder with more entries is not weighed to its end. */
const MOST_ENTRIES = 300_000;

/** Says what the copies of repositories weigh, if there are any. */
export async function copiesOfRepositories({ paths }: Context): Promise<Check[]> {
  const all = await new Worktrees(paths.worktrees).all();
  if (all.length === 0) return [];
  const { bytes, isWhole } = await weigh(paths.worktrees);
  const weight = `${isWhole ? '' : 'more than '}${sizeInWords(bytes)}`;
  const fix = 'crosstalk worktree prune';
  return [
    {
      check: 'copies of repositories',
      ok: true,
      found: `${String(all.length)}, ${weight}; those with which nothing is lost are removed by: ${fix}`,
      fix: '',
    },
  ];
}

async function weigh(folder: string): Promise<{ bytes: number; isWhole: boolean }> {
  const folders = [folder];
  let [bytes, entries] = [0, 0];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      if (++entries > MOST_ENTRIES) return { bytes, isWhole: false };
      const path = join(at, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else bytes += (await lstat(path).catch(() => ({ size: 0 }))).size;
    }
  }
  return { bytes, isWhole: true };
}
