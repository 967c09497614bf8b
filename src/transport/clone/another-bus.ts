import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTime } from 'ulid';
import { IDENTITY_FILE } from '../../protocol/layout.ts';
import { identityIn } from '../../protocol/signed.ts';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import { BRANCH_OF_PROJECT, remoteRefOf, type Repository, loadRecord } from './handle.ts';
import { noteMove, readRef, writeRef, type RefPlace } from './refs.ts';

/** The id of a transport that states none, as transports of plain 6.0 do. */
const NONE = '-';

/** Returns the name of our tracking branch of the remote. */
export function tracking(branch: string): string {
  return `refs/remotes/origin/${branch}`;
}

/** Reads the object that our tracking branch names; undefined before the first fetch. */
export function trackedHere(repository: Repository): Promise<string | undefined> {
  return readRef(ownRefs(repository), tracking(repository.branch));
}

/** Returns the place of the refs in our own git directory. */
export function ownRefs({ dir, gitDir }: Pick<Repository, 'dir' | 'gitDir'>): RefPlace {
  return { dir, gitDir, commonDir: gitDir, isPrivate: true };
}

/**
 * Moves our tracking branch to what was fetched next to it: a history that was rewritten or archived, or
 * the first one that this clone gets. Where another bus was put in the place of ours, as after `git push
 * --mirror` and somebody's `init`, the branch stays where it is: that bus's mail is for others, and ours
 * would be lost.
 *
 * @returns the failure, if any: `another_bus` with the commit of that bus
 */
export async function followFetched(
  repository: Repository,
  objects: Objects,
  isFetched: boolean,
): Promise<Failure | undefined> {
  const { gitDir } = repository;
  const named = await objects.read('FETCH_HEAD');
  // Git leaves the file also when the remote had nothing.
  await rm(join(gitDir, 'FETCH_HEAD'), { force: true });
  if (!isFetched) return undefined;
  // Git reports nothing when the disk has no room for it; otherwise another process fetches at this moment.
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
 * Checks the object to which git has moved our tracking branch, and moves the branch back if that must
 * not be followed: git compares only commits; it replaces a commit by anything else, such as a tag, and
 * the other way round.
 *
 * @param before what the branch named before the fetch
 * @returns the failure, if any: `another_bus` with the object that the branch was moved to
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

/** Returns the commit of the bus before a fetch: that of our tracking branch, or else of the clone's branch. */
async function stoodAt(
  { clone, branch }: Repository,
  objects: Objects,
  before: string | undefined,
): Promise<string | undefined> {
  return (await isCommit(objects, before)) ? before : readRef(clone, `refs/heads/${branch}`);
}

/** Returns the failure when a fetched history must not be followed. */
async function look(
  repository: Repository,
  objects: Objects,
  had: string | undefined,
  fetched: string,
): Promise<Failure | undefined> {
  if (!(await isCommit(objects, fetched))) return noCommit(repository, fetched);
  return had === undefined ? undefined : replaced(repository, had, fetched);
}

/** Whether a ref of ours, as it was read, names a commit, as far as is known. */
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
  // The log entry is the one that git would have written.
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

/** Returns the failure for a commit that does not continue the history here and belongs to another bus. */
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

/** Reads the id of the transport at a commit; `-` where it has none, undefined where it cannot be read. */
async function idAt({ git }: Repository, commit: string): Promise<string | undefined> {
  const file = `${commit}:${IDENTITY_FILE}`;
  // In a partial clone, a file that is not here yet comes from the remote.
  const read = await git.run(['cat-file', 'blob', file], { network: true, most: 4096 });
  if (read.ok) return identityIn(read.stdout.toString('utf8'))?.id ?? NONE;
  return / does not exist in | but not in /.test(read.stderr) ? NONE : undefined;
}

/** Formats an id with the day on which it was made, which its first characters encode. */
function told(id: string): string {
  if (id === NONE) return 'one without an identity';
  try {
    return `${id} of ${new Date(decodeTime(id)).toISOString().slice(0, 10)}`;
  } catch {
    return id;
  }
}
