import { setTimeout as sleep } from 'node:timers/promises';
import { existsSync } from 'node:fs';
import type { Failure } from '../git/failure.ts';
import type { Objects } from '../objects/objects.ts';
import type { Git, GitOutcome } from '../git/git.ts';
import { followFetched, ownRefs, followMoved, trackedHere, tracking } from './another-bus.ts';
import { mendRef } from './own-git.ts';
import { noteMove, readRef, writeRef, removeStaleLock } from './refs.ts';
import { remoteRefOf, type Repository } from './handle.ts';

export type Fetched = { ok: true } | { ok: false; failure: Failure };

/**
 * Returns the bus's tip as known to this machine: our own tracking branch of the remote, or the branch of
 * the clone in solo mode and while the remote has nothing yet.
 */
export async function knownTip(
  { clone, origin, branch }: Repository,
  objects: Objects,
): Promise<string | undefined> {
  const tracked = origin === undefined ? undefined : await trackedTip({ branch }, objects);
  if (tracked !== undefined) return tracked;
  const local = await readRef(clone, `refs/heads/${branch}`);
  return local === undefined ? undefined : (await objects.read(`${local}^{commit}`))?.oid;
}

/** Returns the commit that our own tracking branch of the remote names; undefined before the first fetch. */
export async function trackedTip(
  { branch }: Pick<Repository, 'branch'>,
  objects: Objects,
): Promise<string | undefined> {
  return (await objects.read(`${tracking(branch)}^{commit}`))?.oid;
}

/**
 * Copies the commit of our tracking branch to the clone, so that the operator's own git sees it and keeps
 * its objects. Mail does not wait for it.
 */
export async function mirror({ clone, branch }: Repository, tip: string): Promise<void> {
  const name = tracking(branch);
  const there = await readRef(clone, name).catch(() => undefined);
  if (there !== tip) await writeRef(clone, name, tip);
}

/**
 * Moves our own tracking branch, and that of the clone, to the commit just pushed. Git's push would move
 * the branch whatever it names by then: another process of this clone may have fetched later pushes, and
 * a branch that goes back looks like a rewritten history. So the branch is moved only if it still names
 * the commit from before the push.
 *
 * @param before the commit that it named; undefined when there was none
 */
export async function notePushed(
  repository: Repository,
  before: string | undefined,
  to: string,
): Promise<void> {
  const { branch } = repository;
  const own = ownRefs(repository);
  const moved = await writeRef(own, tracking(branch), to, before ?? '');
  if (!moved.ok) return;
  const none = '0'.repeat(to.length);
  await Promise.all([
    noteMove(own, tracking(branch), before ?? none, to, 'pushed'),
    mirror(repository, to),
  ]);
}

const FETCH_TRIES = 8;
const FETCH_WAIT_MS = 40;

/**
 * Fetches one explicit ref, with one fetch: the cost of an idle poll (invariant 5). Another process of
 * this clone may fetch at the same moment; whoever loses that race for the ref tries again. So does a
 * process that finds a ref of ours damaged, as a power failure may leave it, once the ref is out of the
 * way. Git moves our branch only forward; a history that does not continue it is fetched next to it, and
 * checked first.
 *
 * @param what with `all` the remote also sends objects that are here already
 */
export async function fetchBranch(
  repository: Repository,
  objects: Objects,
  signal?: AbortSignal,
  what: 'news' | 'all' = 'news',
): Promise<Fetched> {
  const { git, branch, partial } = repository;
  const filter =
    what === 'news'
      ? ['--no-filter']
      : ['--refetch', partial === true ? '--filter=blob:none' : '--no-filter'];
  const before = await trackedHere(repository);
  let into: Into = before === undefined ? 'beside' : 'branch';
  for (let tries = 1; ; tries++) {
    // In a partial clone new messages come with their contents, because they are read at once.
    const args = { filter, into };
    const outcome = await transfer(git, (pace) => fetching(repository, args, pace), signal);
    const isBeside = into === 'beside';
    const followed = isBeside
      ? await followFetched(repository, objects, outcome.ok)
      : await followMoved(repository, objects, before);
    const failure = outcome.ok ? followed : outcome.failure;
    if (failure === undefined) return { ok: true };
    const damaged = damagedRefs(outcome.stderr, branch);
    const mayHelp = damaged.length > 0 || failure.kind === 'contention';
    // Git's own exit code for a branch that it does not move; with --quiet it prints nothing.
    const isRefused = !outcome.ok && outcome.code === 1 && into === 'branch' && !mayHelp;
    if (isRefused) into = 'beside';
    if (isRefused) continue;
    if (!mayHelp || tries === FETCH_TRIES) return { ok: false, failure };
    for (const name of damaged) await mendRef(repository, name);
    await passLock(outcome.stderr, branch, signal);
    await sleep(Math.random() * tries * FETCH_WAIT_MS);
  }
}

/** The pace of a transfer: `slowly` lets it run for as long as it makes progress. */
type Pace = 'usual' | 'slowly';

/**
 * Runs a fetch or a push. If it times out it is retried once, for as long as it makes progress: on a slow
 * link the transfer may take longer than any limit, and would start from zero for ever.
 *
 * @param args returns git's arguments; with `slowly`, git has to report its progress
 */
async function transfer(
  git: Git,
  args: (pace: Pace) => string[],
  signal: AbortSignal | undefined,
): Promise<GitOutcome> {
  const options = { network: true, ...(signal && { signal }) };
  const first = await git.run(args('usual'), options);
  if (first.ok || first.failure.kind !== 'timed_out') return first;
  return git.run(args('slowly'), { ...options, progress: true });
}

/** The target of a fetch: our tracking branch, if that moves forward or `anew`, or FETCH_HEAD. */
type Into = 'branch' | 'anew' | 'beside';

/** Returns the arguments of a fetch of the bus, and of nothing else. */
function fetching(
  bus: Pick<Repository, 'branch' | 'ref'>,
  { filter, into }: { filter: readonly string[]; into: Into },
  pace: Pace = 'usual',
): string[] {
  const ref = remoteRefOf(bus);
  const moved = `${into === 'anew' ? '+' : ''}${ref}:${tracking(bus.branch)}`;
  return [
    // Git reports the received bytes only when it keeps them as one pack.
    ...(pace === 'slowly' ? ['-c', 'fetch.unpackLimit=1'] : []),
    'fetch',
    pace === 'slowly' ? '--progress' : '--quiet',
    '--no-tags',
    '--no-auto-maintenance',
    ...(into === 'beside' ? [] : ['--no-write-fetch-head']),
    '--no-recurse-submodules',
    ...filter,
    'origin',
    into === 'beside' ? ref : moved,
  ];
}

/**
 * Returns those of our refs that git reports as naming a missing object. The remote's output can name no
 * other refs.
 */
function damagedRefs(stderr: string, branch: string): string[] {
  const named = stderr.matchAll(/(?:bad object|broken(?: ref)?) (HEAD|refs\/\S+)$/gm);
  return Array.from(named, ([, name = '']) => name).filter(
    (name) =>
      name === 'HEAD' || name === tracking(branch) || /^refs\/crosstalk\/archives\/\w+$/.test(name),
  );
}

/** Milliseconds for the first fetch, as a clone of a large transport takes long. */
const CLONE_LIMIT_MS = 30 * 60_000;

/** Runs the first fetch of a clone: all commits and trees, and no file. Returns the failure, if any. */
export async function bring(
  repository: Repository,
  objects: Objects,
): Promise<Failure | undefined> {
  // A remote that does not support filters sends everything.
  const filter = [repository.partial === true ? '--filter=blob:none' : '--no-filter'];
  const fetched = await repository.git.run(fetching(repository, { filter, into: 'anew' }), {
    network: true,
    timeout: CLONE_LIMIT_MS,
  });
  return fetched.ok ? followMoved(repository, objects, undefined) : fetched.failure;
}

/**
 * Pushes a commit of this clone onto the remote's ref, or only tests whether it could be pushed.
 *
 * @param options `expected`: the commit that the branch must be at; empty for a branch that must not
 *   exist yet; `isDense`: git need not compress the pushed objects; `isNear`: git need neither compress
 *   nor delta them, since the remote is on this machine
 */
export async function pushCommit(
  { git, ...bus }: Pick<Repository, 'git' | 'branch' | 'ref'>,
  commit: string,
  options: {
    dry?: boolean;
    signal?: AbortSignal | undefined;
    expected?: string;
    isDense?: boolean | undefined;
    isNear?: boolean;
  },
): Promise<Failure | undefined> {
  const { dry = false, signal, expected, isDense = false, isNear = false } = options;
  const pushed = await transfer(
    git,
    (pace) => [
      ...(isDense || isNear ? ['-c', 'pack.compression=0'] : []),
      ...(isNear ? ['-c', 'pack.window=0'] : []),
      'push',
      ...(pace === 'slowly' ? ['--progress'] : []),
      ...(dry ? ['--dry-run'] : []),
      '--porcelain',
      ...(expected === undefined ? [] : [`--force-with-lease=${remoteRefOf(bus)}:${expected}`]),
      '--no-follow-tags',
      '--recurse-submodules=no',
      'origin',
      `${commit}:${remoteRefOf(bus)}`,
    ],
    signal,
  );
  if (pushed.ok) return undefined;
  const { failure } = pushed;
  if (failure.lock === undefined) return failure;
  const reason = `the remote has a lock, ${failure.lock}; if it stays, a git was killed there: remove it`;
  return { ...failure, reason };
}

/** Milliseconds after which the lock of our own tracking branch belongs to a git that was killed. */
const LOCK_MS = 5000;
const WAKING_MS = 500;
const LOOK_MS = 40;

/**
 * Waits until the lock that blocked a fetch is gone, or removes it once it is too old.
 *
 * @param stderr git's output about it
 */
async function passLock(
  stderr: string,
  branch: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1] ?? '';
  if (!path.endsWith(`/${tracking(branch)}.lock`)) return;
  const begun = performance.now();
  const until = begun + LOCK_MS + 1000;
  while (existsSync(path) && performance.now() < until && signal?.aborted !== true) {
    // A git that was suspended together with us ends within this time.
    const isDone = performance.now() > begun + WAKING_MS;
    if (isDone && (await removeStaleLock(path, LOCK_MS))) return;
    await sleep(LOOK_MS);
  }
}
