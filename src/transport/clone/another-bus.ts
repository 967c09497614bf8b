import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTime } from 'ulid';
import { IDENTITY_FILE } from '../../protocol/layout.ts';
import { identityIn } from '../../protocol/signed.ts';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import { BRANCH_OF_PROJECT, remoteRefOf, type Repository, loadRecord } from './handle.ts';
import { noteMove, readRef, writeRef, type RefPlace } from './refs.ts';

/** The id of what says nothing of itself, as transports of plain 6.0 do. */
const NONE = '-';

/** Our tracking branch of the remote. */
export function tracking(branch: string): string {
  return `refs/remotes/origin/${branch}`;
}

/** What our tracking branch names; undefined before anything was fetched. */
export function trackedHere(repository: Repository): Promise<string | undefined> {
  return readRef(ownRefs(repository), tracking(repository.branch));
}

/** Where the refs of our own git directory are. */
export function ownRefs({ dir, gitDir }: Pick<Repository, 'dir' | 'gitDir'>): RefPlace {
  return { dir, gitDir, commonDir: gitDir, isPrivate: true };
}

/**
 * Moves our tracking branch to what was fetched beside it: a history that was rewritten or archived, or the first
 * one that this clone gets. Where another bus was put in the place of ours, as after `git push --mirror` and somebody's
 * `init`, the branch stays where it is: its mail is for others, and ours would be nowhere any more.
 *
 * @returns the failure, if any: `another_bus` with the commit at which that is
 */
export async function followFetched(
  repository: Repository,
  objects: Objects,
  isFetched: boolean,
): Promise<Failure | undefined> {
  const { gitDir } = repository;
  const named = await objects.read('FETCH_HEAD');
  // Git leaves it also where the remote had nothing.
  await rm(join(gitDir, 'FETCH_HEAD'), { force: true });
  if (!isFetched) return undefined;
  // Git says nothing where the disk has no room for it; otherwise another process fetches at this moment.
  if (named === undefined)
    return repository.git.fullDisk ?? { kind: 'contention', reason: 'FETCH_HEAD is being written' };
  const { oid: fetched } = named;
  const before = await trackedHere(repository);
  const had = await stoodAt(repository, objects, before);
  const failure = await look(repository, objects, had, fetched);
  if (failure !== undefined) return failure;
  const why = had === before && had !== undefined ? 'forced-update' : 'storing head';
  return moveTracking(repository, before, fetched, `fetch: ${why}`);
}

/**
 * Looks at where git has moved our tracking branch, and puts it back where that is not to be followed: git compares
 * only commits, and lets anything else, such as a tag, take the place of one, and a commit the place of that.
 *
 * @param before what the branch named before the fetch
 * @returns the failure, if any: `another_bus` with the object at which that is
 */
export async function followMoved(
  repository: Repository,
  objects: Objects,
  before: string | undefined,
): Promise<Failure | undefined> {
  const after = await trackedHere(repository);
  if (after === undefined || after === before) return undefined;
  if ((await isCommit(objects, after)) && (await isCommit(objects, before))) return undefined;
  const had = await stoodAt(repository, objects, before);
  const failure = await look(repository, objects, had, after);
  if (failure !== undefined && had !== undefined)
    await moveTracking(repository, after, had, 'put back');
  return failure;
}

/** The commit of the bus before a fetch: the one of our tracking branch, or else of the clone's branch. */
async function stoodAt(
  { clone, branch }: Repository,
  objects: Objects,
  before: string | undefined,
): Promise<string | undefined> {
  return (await isCommit(objects, before)) ? before : readRef(clone, `refs/heads/${branch}`);
}

/** Why what a fetch has brought is not followed, if it is not. */
async function look(
  repository: Repository,
  objects: Objects,
  had: string | undefined,
  fetched: string,
): Promise<Failure | undefined> {
  if (!(await isCommit(objects, fetched))) return noCommit(repository, fetched);
  return had === undefined ? undefined : replaced(repository, had, fetched);
}

/** Whether a ref of ours, as it was read, names a commit, as far as can be told. */
async function isCommit(objects: Objects, oid: string | undefined): Promise<boolean> {
  if (oid === undefined) return false;
  const found = await objects.read(oid);
  return found === undefined || found.type === 'commit';
}

async function moveTracking(
  repository: Repository,
  from: string | undefined,
  to: string,
  why: string,
): Promise<Failure | undefined> {
  const [own, name] = [ownRefs(repository), tracking(repository.branch)];
  const moved = await writeRef(own, name, to, from ?? '');
  if (!moved.ok) return { kind: moved.contention ? 'contention' : 'other', reason: moved.reason };
  // As git would have noted it.
  await noteMove(own, name, from ?? '0'.repeat(to.length), to, why);
  return undefined;
}

function noCommit(repository: Repository, oid: string): Failure {
  const where = `${remoteRefOf(repository)} at ${repository.origin ?? ''}`;
  return {
    kind: 'another_bus',
    reason: `something else stands in the place of this bus: ${where} is now no commit, but ${oid}; nothing of it was taken over, and nothing is pushed to it. Ask who made it; whoever has the bus puts it back with: crosstalk sync --recreate`,
    commit: oid,
  };
}

/** Why a commit is not followed: it does not go on from what was here, and belongs to another bus. */
async function replaced(
  repository: Repository,
  had: string,
  fetched: string,
): Promise<Failure | undefined> {
  const [here, there] = [await idAt(repository, had), await idAt(repository, fetched)];
  const recorded = (await loadRecord(repository))?.identity?.split(' ')[0];
  if (there === undefined)
    return { kind: 'missing_object', reason: `${IDENTITY_FILE} at ${fetched} cannot be read` };
  const ours = here ?? recorded ?? there;
  if (there === ours || (there === recorded && there !== NONE)) return undefined;
  const goesOn = await repository.git.run(['merge-base', '--is-ancestor', had, fetched]);
  if (goesOn.ok) return undefined;
  const { origin = '', dir, ref, branch } = repository;
  const where = `${remoteRefOf(repository)} at ${origin}`;
  const joining =
    ref === undefined && branch !== BRANCH_OF_PROJECT
      ? `crosstalk init <another folder> --remote ${origin}`
      : `crosstalk init --join ${origin}`;
  return {
    kind: 'another_bus',
    reason: `another bus stands in the place of this one: ${where} is now ${told(there)}, and ${dir} belongs to ${told(ours)}; nothing of it was taken over, and nothing is pushed to it. Ask who made it; put this one back with: crosstalk sync --recreate, or join that one with: ${joining}`,
    commit: fetched,
  };
}

/** The id that a transport has at a commit; `-` where it has none, undefined where it cannot be read. */
async function idAt({ git }: Repository, commit: string): Promise<string | undefined> {
  const file = `${commit}:${IDENTITY_FILE}`;
  // In a partial clone, what is not here yet comes from the remote.
  const read = await git.run(['cat-file', 'blob', file], { network: true, most: 4096 });
  if (read.ok) return identityIn(read.stdout.toString('utf8'))?.id ?? NONE;
  return / does not exist in | but not in /.test(read.stderr) ? NONE : undefined;
}

/** An id with the day on which it was made, which its first characters tell. */
function told(id: string): string {
  if (id === NONE) return 'one without an identity';
  try {
    return `${id} of ${new Date(decodeTime(id)).toISOString().slice(0, 10)}`;
  } catch {
    return id;
  }
}
