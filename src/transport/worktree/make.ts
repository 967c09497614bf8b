import { randomUUID } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { passed } from '../../crash-points.ts';
import { Git } from '../git/git.ts';
import type { Clone } from '../clone/clone.ts';
import { readRef } from '../clone/refs.ts';
import { startOf } from './source.ts';
import { ownGitOf, partsOf, type Tree } from './tree.ts';

/** What `git push` in a copy says: only the program moves branches of the original. */
const NO_PUSH = 'commits-here-are-fetched-after-the-run';
const HOUR_MS = 3_600_000;
/** What a copy is called until it is complete, before what tells attempts apart. */
const MAKING = '.making';

/**
 * Makes a copy of a repository on a new branch, all of it or nothing.
 *
 * The objects are copied, not linked: whoever can write a linked file in the copy would change the
 * original. Borrowing them would let a `gc` in the original break the copy.
 *
 * @param dir where the copy will be; nothing is there yet
 * @param from a branch, a tag or a remote branch; by default what is checked out in the original
 * @throws CrosstalkError `invalid` when there is nothing to begin with, `git_failed` when git fails
 */
export async function makeTree(
  environment: NodeJS.ProcessEnv,
  source: Clone,
  { dir, branch, from }: { dir: string; branch: string; from?: string | undefined },
  signal: AbortSignal,
): Promise<Tree> {
  const start = await startOf(source, from);
  // Its name is used once: a git that outlived the process that started it may still be at work in that of
  // another attempt, and removes what it has made when it fails.
  const making = `${dir}${MAKING}${randomUUID()}`;
  await removeTree({ dir });
  const limits = { signal, timeout: HOUR_MS };
  try {
    const git = new Git(dirname(dir), environment);
    await git.must(
      [
        'clone',
        ...['--quiet', '--local', '--no-hardlinks', '--dissociate', '--no-checkout', '--template='],
        ...['--config', `remote.origin.pushurl=${NO_PUSH}`],
        ...['--', source.dir, making],
      ],
      limits,
    );
    const inside = git.elsewhere(making);
    await inside.must(
      ['-c', 'core.hooksPath=/dev/null', 'checkout', '--quiet', '--no-track', '-b', branch, start],
      limits,
    );
    const base = (await readRef(await partsOf({ dir: making }), `refs/heads/${branch}`)) ?? start;
    passed('tree_cloned');
    await rename(making, dir);
    passed('tree_made');
    return { dir, branch, base };
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw error;
  }
}

/** Removes a copy with everything that was kept for it. */
export async function removeTree({ dir }: Pick<Tree, 'dir'>): Promise<void> {
  const begun = `${basename(dir)}${MAKING}`;
  const names = await readdir(dirname(dir)).catch(() => []);
  const attempts = names.filter((name) => name.startsWith(begun));
  for (const path of [...attempts.map((name) => join(dirname(dir), name)), dir, ownGitOf({ dir })])
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
}
