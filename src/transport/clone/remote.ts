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
 * The bus's tip as this machine knows it: our own tracking branch of the remote, or the branch of
 * the clone in solo mode. For a remote that has nothing yet, it is what the clone has.
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

/** What our own tracking branch of the remote names; undefined before anything was fetched. */
export async function trackedTip(
  { branch }: Pick<Repository, 'branch'>,
  objects: Objects,
): Promise<string | undefined> {
  return (await objects.read(`${tracking(branch)}^{commit}`))?.oid;
}

/**
 * Lets the clone know which commit our tracking branch is at, so that the operator's own git sees
 * it and keeps its objects. Mail does not wait for it.
 */
export async function mirror({ clone, branch }: Repository, tip: string): Promise<void> {
  const name = tracking(branch);
  const there = await readRef(clone, name).catch(() => undefined);
  if (there !== tip) await writeRef(clone, name, tip);
}

/**
 * Moves our own tracking branch to what was just pushed, and lets the clone know. Git's push would
 * move the branch whatever it names by then: another process of this clone may have fetched what
 * was pushed on top, and a branch that goes back looks like a history that was rewritten. So the
 * branch is moved only if it still names what it named before the push.
 *
 * @param before what it named; undefined when there was none
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
 * One fetch of one explicit ref: what an idle poll costs (invariant 5). Another process of this
 * clone may fetch at the same moment; whoever loses that race for the ref tries again. So does a
 * process that finds a ref of ours damaged, as a power failure may leave it, once the ref is out of
 * the way. Git moves our branch only forward; what does not go on from it is fetched beside it, and looked at first.
 *
 * @param what `all` has the remote send what is here already, too
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
    // Git's own code for a branch that it does not move; it says nothing where it is to be quiet.
    const isRefused = !outcome.ok && outcome.code === 1 && into === 'branch' && !mayHelp;
    if (isRefused) into = 'beside';
    if (isRefused) continue;
    if (!mayHelp || tries === FETCH_TRIES) return { ok: false, failure };
    for (const name of damaged) await mendRef(repository, name);
    await passLock(outcome.stderr, branch, signal);
    await sleep(Math.random() * tries * FETCH_WAIT_MS);
  }
}

/** Whether a transfer is tried for as long as it makes progress. */
type Pace = 'usual' | 'slowly';

/**
 * A fetch or a push. If it runs out of time it is tried once more, for as long as it makes
 * progress: on a slow link what is waiting may take longer than any limit, and would start from
 * zero for ever.
 *
 * @param args what git is called with; `slowly`: git has to tell how far it is
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

/** Where a fetch puts what it brings: onto our tracking branch, if that goes on to it or `anew`, or into FETCH_HEAD. */
type Into = 'branch' | 'anew' | 'beside';

/** The arguments of a fetch of the bus, and of nothing else. */
function fetching(
  bus: Pick<Repository, 'branch' | 'ref'>,
  { filter, into }: { filter: readonly string[]; into: Into },
  pace: Pace = 'usual',
): string[] {
  const ref = remoteRefOf(bus);
  const moved = `${into === 'anew' ? '+' : ''}${ref}:${tracking(bus.branch)}`;
  return [
    // Git tells how many bytes have come only when it keeps them as one pack.
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
 * Those of our refs of which git says that they name a missing object. What a remote prints can
 * name no other refs.
 */
function damagedRefs(stderr: string, branch: string): string[] {
  const named = stderr.matchAll(/(?:bad object|broken(?: ref)?) (HEAD|refs\/\S+)$/gm);
  return Array.from(named, ([, name = '']) => name).filter(
    (name) =>
      name === 'HEAD' || name === tracking(branch) || /^refs\/crosstalk\/archives\/\w+$/.test(name),
  );
}

/** A clone of a large transport takes its time. */
const CLONE_LIMIT_MS = 30 * 60_000;

/** The first fetch of a clone: all commits and trees, and no file. The failure, if any. */
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
 * Pushes a commit of this clone onto the remote's ref, or only tries whether it could be pushed.
 *
 * @param options `expected`: the commit that the branch must be at; empty for a branch that must
 *   not exist yet; `isDense`: git need not try to make smaller what is pushed; `isNear`: neither that nor to
 *   look for what of it is like something else, since the remote is on this machine
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

/** A lock of our own tracking branch is held for milliseconds; this old, it is of a git that was killed. */
const LOCK_MS = 5000;
const WAKING_MS = 500;
const LOOK_MS = 40;

/**
 * Waits until the lock that was in the way of a fetch is gone, or takes it away once it is too old.
 *
 * @param stderr what git said of it
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
    // A git that slept through a suspend with us ends now.
    const isDone = performance.now() > begun + WAKING_MS;
    if (isDone && (await removeStaleLock(path, LOCK_MS))) return;
    await sleep(LOOK_MS);
  }
}
