import { rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from './failure.ts';
import type { Git } from './git.ts';
import type { Repository } from './repository.ts';

export type Fetched = { ok: true } | { ok: false; failure: Failure };

/** The local name of the bus: the tracking branch of the remote, or the branch itself in solo mode. */
export function busRef(repository: Repository, branch: string): string {
  return repository.origin === undefined ? `refs/heads/${branch}` : `refs/remotes/origin/${branch}`;
}

const FETCH_TRIES = 8;
const FETCH_WAIT_MS = 40;

/**
 * One fetch of one explicit ref: what an idle poll costs (invariant 5). Another process of this
 * clone may fetch at the same moment; whoever loses that race for the ref tries again.
 */
export async function fetchBranch(
  git: Git,
  branch: string,
  signal?: AbortSignal,
): Promise<Fetched> {
  for (let tries = 1; ; tries++) {
    const outcome = await git.run(
      [
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-auto-maintenance',
        '--no-write-fetch-head',
        '--no-recurse-submodules',
        // In a partial clone new messages come whole, as they are read at once.
        '--no-filter',
        'origin',
        `+refs/heads/${branch}:refs/remotes/origin/${branch}`,
      ],
      { network: true, ...(signal === undefined ? {} : { signal }) },
    );
    if (outcome.ok) return { ok: true };
    if (outcome.failure.kind !== 'contention' || tries === FETCH_TRIES) {
      return { ok: false, failure: outcome.failure };
    }
    await removeStaleLock(outcome.stderr, branch);
    await sleep(Math.random() * tries * FETCH_WAIT_MS);
  }
}

/**
 * Pushes a commit that is here onto the remote's branch, or only tries whether it could be.
 *
 * @param options `expected` replaces a history that ends with this commit, and no other
 */
export async function pushCommit(
  git: Git,
  branch: string,
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
  if (!path.endsWith(`/refs/remotes/origin/${branch}.lock`)) return;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  if (Date.now() - mtimeMs > STALE_LOCK_MS) await rm(path, { force: true });
}

/**
 * The branch that is the bus: what init recorded, else the remote's default branch, else its only
 * branch, else the branch checked out here.
 */
export async function findBranch(repository: Repository): Promise<string> {
  const { git, origin, branch } = repository;
  if (branch !== undefined) return branch;
  if (origin !== undefined) {
    const known = (await knownDefault(git)) ?? (await askRemote(git));
    if (known !== undefined) return known;
  }
  const head = await git.run(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  return head.ok ? head.stdout.toString('utf8').trim() : 'main';
}

async function knownDefault(git: Git): Promise<string | undefined> {
  const head = await git.run(['symbolic-ref', '--quiet', 'refs/remotes/origin/HEAD']);
  if (head.ok) return head.stdout.toString('utf8').trim().replace('refs/remotes/origin/', '');
  const refs = await git.run([
    'for-each-ref',
    '--format=%(refname:lstrip=3)',
    'refs/remotes/origin/',
  ]);
  const names = refs.stdout
    .toString('utf8')
    .split('\n')
    .filter((name) => name !== '');
  return names.length === 1 ? names[0] : undefined;
}

async function askRemote(git: Git): Promise<string | undefined> {
  const refs = await remoteRefs(git, 'origin');
  if (!refs.ok) return undefined;
  return refs.head ?? (refs.branches.length === 1 ? refs.branches[0] : undefined);
}

export type RemoteRefs =
  { ok: true; head: string | undefined; branches: string[] } | { ok: false; failure: Failure };

/** The branches of a remote and which of them is its default; works before anything was fetched. */
export async function remoteRefs(git: Git, remote: string): Promise<RemoteRefs> {
  const outcome = await git.run(['ls-remote', '--symref', '--', remote, 'HEAD', 'refs/heads/*'], {
    network: true,
  });
  if (!outcome.ok) return { ok: false, failure: outcome.failure };
  let head: string | undefined;
  const branches: string[] = [];
  for (const line of outcome.stdout.toString('utf8').split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    if (value.startsWith('ref: refs/heads/') && name === 'HEAD')
      head = value.slice('ref: refs/heads/'.length);
    else if (name.startsWith('refs/heads/')) branches.push(name.slice('refs/heads/'.length));
  }
  return { ok: true, head, branches };
}
