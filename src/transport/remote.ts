import { readFile, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from './failure.ts';
import type { Git } from './git.ts';
import type { Clone } from './clone.ts';
import type { Objects } from './objects.ts';
import { mendRef } from './own-git.ts';
import { headOf, readRef, writeRef } from './refs.ts';
import type { Repository } from './repository.ts';

export type Fetched = { ok: true } | { ok: false; failure: Failure };

/**
 * The bus's tip as known here: our own tracking branch of the remote, or the branch of the clone in
 * solo mode. A remote that has nothing yet gets what the clone has.
 */
export async function knownTip(
  { clone, origin, branch }: Repository,
  objects: Objects,
): Promise<string | undefined> {
  const tracked =
    origin === undefined ? undefined : (await objects.read(`${tracking(branch)}^{commit}`))?.oid;
  if (tracked !== undefined) return tracked;
  const local = await readRef(clone, `refs/heads/${branch}`);
  return local === undefined ? undefined : (await objects.read(`${local}^{commit}`))?.oid;
}

/**
 * Lets the clone know what our tracking branch stands at, so that the operator's own git sees it and
 * keeps its objects. Mail does not wait for it.
 */
export async function mirror({ clone, branch }: Repository, tip: string): Promise<void> {
  const name = tracking(branch);
  const there = await readRef(clone, name).catch(() => undefined);
  if (there !== tip) await writeRef(clone, name, tip);
}

const FETCH_TRIES = 8;
const FETCH_WAIT_MS = 40;

/**
 * One fetch of one explicit ref: what an idle poll costs (invariant 5). Another process of this
 * clone may fetch at the same moment; whoever loses that race for the ref tries again. So does who
 * finds a ref of ours damaged, as a power failure may leave it, once it is out of the way.
 */
export async function fetchBranch(repository: Repository, signal?: AbortSignal): Promise<Fetched> {
  const { git, branch } = repository;
  for (let tries = 1; ; tries++) {
    // In a partial clone new messages come whole, as they are read at once.
    const outcome = await git.run(fetching(branch, '--no-filter'), {
      network: true,
      ...(signal === undefined ? {} : { signal }),
    });
    if (outcome.ok) return { ok: true };
    const damaged = damagedRefs(outcome.stderr, branch);
    const mayHelp = damaged.length > 0 || outcome.failure.kind === 'contention';
    if (!mayHelp || tries === FETCH_TRIES) return { ok: false, failure: outcome.failure };
    for (const name of damaged) await mendRef(repository, name);
    await removeStaleLock(outcome.stderr, branch);
    await sleep(Math.random() * tries * FETCH_WAIT_MS);
  }
}

function tracking(branch: string): string {
  return `refs/remotes/origin/${branch}`;
}

/** The arguments of a fetch of the bus, and of nothing else, into our tracking branch. */
function fetching(branch: string, filter: string): string[] {
  return [
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-auto-maintenance',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    filter,
    'origin',
    `+refs/heads/${branch}:${tracking(branch)}`,
  ];
}

/**
 * The refs of ours of which git says that they name nothing that is here. What a remote prints can
 * name no others.
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
export async function bring({ git, branch }: Repository): Promise<Failure | undefined> {
  // A remote that knows no filters sends everything.
  const fetched = await git.run(fetching(branch, '--filter=blob:none'), {
    network: true,
    timeout: CLONE_LIMIT_MS,
  });
  return fetched.ok ? undefined : fetched.failure;
}

/**
 * Pushes a commit that is here onto the remote's branch, or only tries whether it could be.
 *
 * @param options `expected` replaces a history that ends with this commit, and no other
 */
export async function pushCommit(
  { git, branch }: Pick<Repository, 'git' | 'branch'>,
  commit: string,
  options: { dry?: boolean; signal?: AbortSignal | undefined; expected?: string },
): Promise<Failure | undefined> {
  const { dry = false, signal, expected } = options;
  const pushed = await git.run(
    [
      'push',
      ...(dry ? ['--dry-run'] : []),
      '--porcelain',
      ...(expected === undefined ? [] : [`--force-with-lease=refs/heads/${branch}:${expected}`]),
      '--no-follow-tags',
      '--recurse-submodules=no',
      'origin',
      `${commit}:refs/heads/${branch}`,
    ],
    { network: true, ...(signal && { signal }) },
  );
  return pushed.ok ? undefined : pushed.failure;
}

/** Git holds the lock of a ref for milliseconds; one this old belongs to a git that was killed. */
const STALE_LOCK_MS = 10_000;

async function removeStaleLock(stderr: string, branch: string): Promise<void> {
  const path = /Unable to create '(.+\.lock)': File exists/.exec(stderr)?.[1] ?? '';
  if (!path.endsWith(`/${tracking(branch)}.lock`)) return;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  if (Date.now() - mtimeMs > STALE_LOCK_MS) await rm(path, { force: true });
}

/**
 * The branch that is the bus, where nobody has said which: the remote's default branch, else its
 * only branch, else the branch checked out here.
 *
 * @param remote its URL; undefined in solo mode
 */
export async function chooseBranch(
  git: Git,
  clone: Clone,
  remote: string | undefined,
): Promise<string> {
  const known = remote === undefined ? undefined : await knownDefault(git, clone);
  const asked = remote === undefined || known !== undefined ? known : await askRemote(git);
  return asked ?? (await headOf(clone))?.replace(/^refs\/heads\//, '') ?? 'main';
}

async function knownDefault(git: Git, clone: Clone): Promise<string | undefined> {
  const listed = await git.run(
    ['for-each-ref', '--format=%(refname:lstrip=3) %(symref:lstrip=3)', 'refs/remotes/origin/'],
    { env: { GIT_DIR: clone.gitDir } },
  );
  const refs = listed.stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '));
  const head = refs.find(([name]) => name === 'HEAD')?.[1] ?? '';
  if (head !== '') return head;
  return refs.length === 1 ? refs[0]?.[0] : undefined;
}

async function askRemote(git: Git): Promise<string | undefined> {
  const refs = await remoteRefs(git, 'origin');
  if (!refs.ok) return undefined;
  return refs.head ?? (refs.branches.length === 1 ? refs.branches[0] : undefined);
}

/** What a remote says of itself, and git answers, on a line of its own or among other words. */
const SHA256 = /[<>] (?:.* )?object-format=sha256(?: |$)/m;

export type RemoteRefs =
  | { ok: true; head: string | undefined; branches: string[]; isSha256: boolean }
  | { ok: false; failure: Failure };

/**
 * The branches of a remote and which of them is its default; works before anything was fetched.
 *
 * @param trace a file to be made, by which also a remote without any branch tells its object format
 */
export async function remoteRefs(git: Git, remote: string, trace?: string): Promise<RemoteRefs> {
  const outcome = await git.run(['ls-remote', '--symref', '--', remote, 'HEAD', 'refs/heads/*'], {
    network: true,
    ...(trace !== undefined && { env: { GIT_TRACE_PACKET: trace } }),
  });
  if (!outcome.ok) return { ok: false, failure: outcome.failure };
  let head: string | undefined;
  const branches: string[] = [];
  let isSha256 = trace !== undefined && SHA256.test(await readFile(trace, 'utf8').catch(() => ''));
  for (const line of outcome.stdout.toString('utf8').split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    if (value.startsWith('ref: refs/heads/') && name === 'HEAD')
      head = value.slice('ref: refs/heads/'.length);
    else if (name.startsWith('refs/heads/')) {
      branches.push(name.slice('refs/heads/'.length));
      isSha256 ||= value.length === 64;
    }
  }
  return { ok: true, head, branches, isSha256 };
}
