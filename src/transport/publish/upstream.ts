import type { Commit } from '../../protocol/outgoing.ts';
import { makeBranch } from '../clone/branches.ts';
import type { Repository } from '../clone/handle.ts';
import {
  fetchBranch,
  knownTip,
  notePushed,
  pushCommit,
  trackedTip,
  type Fetched,
} from '../clone/remote.ts';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import { admit, type Refused } from './admit.ts';
import { build, moveSolo } from './build.ts';
import { Epochs } from './epoch.ts';

/** The branch that is the bus, as a publish uses it: by git, or in a simulation. */
export interface Upstream {
  /** Whether others may move the branch, because it is on a remote. */
  readonly isShared: boolean;
  /** The tip as known here, without asking the remote; undefined in an empty transport. */
  tip: () => Promise<string | undefined>;
  /** Fetches the remote's tip. */
  fetch: (signal: AbortSignal | undefined) => Promise<Fetched>;
  /** Creates the branch at a commit on a remote that has no branch at all; returns the failure, if any. */
  make: (tip: string, signal: AbortSignal | undefined) => Promise<Failure | undefined>;
  /** See {@link admit}. */
  admit: (
    tip: string | undefined,
    entries: readonly (readonly Commit[])[],
  ) => Promise<{ missing: Commit[]; refused: Refused[] }>;
  /** See {@link build}. */
  build: (
    tip: string | undefined,
    commits: readonly Commit[],
  ) => Promise<{ ok: true; oid: string } | { ok: false; failure: Failure }>;
  /** Moves the branch, if it is still at `from`; returns the failure, if any. */
  move: (
    from: string | undefined,
    to: string,
    options: MoveOptions,
  ) => Promise<Failure | undefined>;
}

interface MoveOptions {
  signal?: AbortSignal | undefined;
  /** Whether the pushed content is incompressible. */
  isDense?: boolean;
  /** Whether git's delta search would take long for this many files. */
  isMuch?: boolean;
  /** Called once a remote has moved the branch, before anything is recorded here. */
  onTaken?: () => void;
}

/** Returns the bus of a repository: the branch on its remote, or in solo mode the local one. */
export function upstreamOf(repository: Repository, objects: Objects): Upstream {
  return {
    isShared: repository.origin !== undefined,
    tip: () => knownTip(repository, objects),
    fetch: (signal) => fetchBranch(repository, objects, signal),
    make: async (tip, signal) => {
      const hadIt = (await trackedTip(repository, objects)) !== undefined;
      return makeBranch(repository, tip, signal, hadIt);
    },
    admit: async (tip, entries) => {
      const { missing, refused } = await admit(objects, tip, entries);
      return { missing: await withoutRemoved(repository, objects, tip, missing), refused };
    },
    build: (tip, commits) => build(repository, objects, tip, commits),
    move: (from, to, options) => move(repository, objects, from, to, options),
  };
}

/** Milliseconds by which a commit must be older than the tip to be checked for removal. */
const WAITED_MS = 60_000;

/**
 * Leaves out commits that have been on the bus and were removed or archived since: an outbox restored
 * from a backup still holds the entries that it had published.
 */
async function withoutRemoved(
  repository: Repository,
  objects: Objects,
  tip: string | undefined,
  commits: Commit[],
): Promise<Commit[]> {
  if (tip === undefined) return commits;
  const { content } = (await objects.read(tip)) ?? {};
  const seconds = /^committer .* (\d+) [+-]\d{4}$/m.exec(
    content?.toString('utf8', 0, 4096) ?? '',
  )?.[1];
  const before = Number(seconds ?? 0) * 1000 - WAITED_MS;
  const waited = commits.filter(({ at }) => Date.parse(at) < before);
  const fresh = waited.flatMap(({ requires = [] }) =>
    requires.flatMap(({ path, oid }) => (oid === null ? [path] : [])),
  );
  if (fresh.length === 0) return commits;
  const first = Math.min(...waited.map(({ at }) => Date.parse(at))) - WAITED_MS;
  const since = `--since=${new Date(first).toISOString()}`;
  // The history that an archive names holds the files that it removed.
  const tips = [tip, (await new Epochs(repository, objects).archivedBy(tip)) ?? tip];
  const form = ['--format=', '--name-only', '--diff-filter=AD', '--no-renames', '-z'];
  const log = ['log', '--ignore-missing', ...form, since, ...tips, '--', ...fresh];
  const removed = new Set((await repository.git.must(log)).toString('utf8').split('\0'));
  return commits.filter(
    ({ requires = [] }) => !requires.some(({ path, oid }) => oid === null && removed.has(path)),
  );
}

/** Moves the bus to `to`: a push, or in solo mode the local branch; returns the failure, if any. */
async function move(
  repository: Repository,
  objects: Objects,
  from: string | undefined,
  to: string,
  { signal, isDense, isMuch = false, onTaken }: MoveOptions,
): Promise<Failure | undefined> {
  const { origin } = repository;
  if (origin === undefined) return moveSolo(repository, from, to);
  // Over a network, the delta search saves more time than it takes.
  const isNear = isMuch && /^(?:\/|file:)/.test(origin);
  const tracked = await trackedTip(repository, objects);
  // The branch must be at the commit on which these were built: we do not repair a branch that was set
  // back or renamed. It must never be compared with the newest known commit: another process of this
  // clone may have fetched since, and the push would remove those commits from the bus.
  const failure =
    tracked !== undefined
      ? await pushCommit(repository, to, { signal, isDense, isNear, expected: from ?? '' })
      : await makeBranch(repository, to, signal);
  if (failure !== undefined) return failure;
  onTaken?.();
  await notePushed(repository, tracked, to);
  return undefined;
}
