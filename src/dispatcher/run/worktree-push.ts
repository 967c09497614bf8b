import type { LookForSecrets } from '../../bus/screening.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import type { FoundSecret } from '../../protocol/text/found-secret.ts';
import { addedBy } from '../../transport/worktree/added.ts';
import { pushBranch } from '../../transport/worktree/push.ts';
import type { TreePlace } from './workplace.ts';

interface PushParts {
  environment: NodeJS.ProcessEnv;
  lookForSecrets: LookForSecrets;
}

/**
 * Pushes a branch to a remote of the repository, unless what its commits bring along looks like a secret
 * (work.md, "Nothing secret leaves"): a person looks at it then, and pushes it by hand, or does not.
 *
 * @throws CrosstalkError `held`, which names what was found without showing it; `git_failed`
 */
export async function pushSearched(
  { environment, lookForSecrets }: PushParts,
  { source, tree }: TreePlace,
  to: { remote: string; commit: string; last: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const held = (why: string): CrosstalkError =>
    new CrosstalkError(
      'held',
      `the branch ${tree.branch} is not pushed to ${to.remote}, as ${why}; look at it, and push it yourself from ${source.dir} if nobody minds`,
    );
  const added = await addedBy(environment, source, tree, to, signal);
  if (added === undefined) throw held('it is too large to be searched for secrets');
  const author = { name: '', email: '' };
  const commits = [{ author, at: '', subject: '', files: added }];
  const found = await lookForSecrets({ id: '', commits }).catch((error: unknown) => {
    throw held(`it cannot be searched for secrets: ${reasonOf(error)}`);
  });
  if (found.length > 0) throw held(`it looks as if it had ${said(found)}`);
  await pushBranch(environment, source, tree, to, signal);
}

/** Lines are left out: they are none of the file, but of its changes. */
function said(found: readonly FoundSecret[]): string {
  const all = [...new Set(found.map(({ kind, where }) => `${kind} in ${where}`))];
  const more = all.length > 3 ? ` and ${String(all.length - 3)} more` : '';
  return `${all.slice(0, 3).join(', ')}${more}`;
}
