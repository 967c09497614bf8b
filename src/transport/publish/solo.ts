import type { Commit } from '../../protocol/commit.ts';
import type { Failure } from '../git/failure.ts';
import { failed } from '../git/git.ts';
import type { Objects } from '../objects/objects.ts';
import { writeRef } from '../clone/refs.ts';
import type { Repository } from '../clone/handle.ts';
import { emptyTree } from '../checkout/on-checkout.ts';
import { followBranch } from '../checkout/solo-checkout.ts';
import { build } from './build.ts';

/**
 * Moves the bus in solo mode, where it is the branch of the operator's clone, if that is still at `from`;
 * the checkout follows.
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

/**
 * Starts a new transport: its first commit is made like all others, and its checkout is written, with our
 * own git directory. So no setting of the machine affects its content: ignored files, filters, encodings,
 * hooks.
 *
 * @throws CrosstalkError `git_failed`
 */
export async function begin(
  repository: Repository,
  objects: Objects,
  commit: Commit,
): Promise<void> {
  const fail = (command: string, failure: Failure): never => {
    throw failed(repository.dir, command, failure);
  };
  const built = await build(repository, objects, undefined, [commit]);
  if (!built.ok) return fail('fast-import', built.failure);
  const failure = await moveSolo(repository, undefined, built.oid);
  if (failure !== undefined) return fail('update-ref', failure);
  const followed = await followBranch(repository, await emptyTree(repository), built.oid);
  if (followed.state === 'left') fail('read-tree', { kind: 'other', reason: followed.reason });
}
