import type { Failure } from './failure.ts';
import type { Repository } from './repository.ts';

/**
 * Keeps the checkout to some folders, with the files beside them; undefined for everything. Git
 * takes away only files that are as they were committed.
 */
export async function keepTo(
  { git }: Repository,
  folders: readonly string[] | undefined,
): Promise<Failure | undefined> {
  const set =
    folders === undefined
      ? await git.run(['sparse-checkout', 'disable'])
      : await git.run(['sparse-checkout', 'set', '--cone', '--sparse-index', '--stdin'], {
          input: `${folders.join('\n')}\n`,
        });
  return set.ok ? undefined : set.failure;
}
