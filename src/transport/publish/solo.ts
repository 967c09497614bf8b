import type { Failure } from '../git/failure.ts';
import { writeRef } from '../clone/refs.ts';
import type { Repository } from '../clone/handle.ts';
import { followBranch } from '../checkout/solo-checkout.ts';

/**
 * Solo mode: the branch of the operator's clone is the bus. The branch moves if it is still at
 * `from`, and the checkout follows.
 *
 * @returns the failure, if any
 */
export async function moveSolo(
  repository: Repository,
  from: string | undefined,
  to: string,
): Promise<Failure | undefined> {
  const { clone, branch } = repository;
  const moved = await writeRef(clone, `refs/heads/${branch}`, to, from ?? '');
  if (!moved.ok) return { kind: moved.contention ? 'contention' : 'other', reason: moved.reason };
  if (from !== undefined) await followBranch(repository, from, to);
  return undefined;
}
