import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { shown } from '../../protocol/text/result.ts';
import type { Clone } from './clone.ts';
import type { Failure } from '../git/failure.ts';
import { failed, type Git } from '../git/git.ts';
import { headOf } from './refs.ts';
import { pushCommit } from './remote.ts';
import { remoteRefOf, type Repository } from './handle.ts';

/**
 * The ref that is the bus at a project's own remote. It is no branch and no tag, so that clones, fetches and
 * lists of branches pass it over.
 */
export const PROJECT_REF = 'refs/crosstalk/bus';

/** A branch that is being renamed is there under neither name for a moment. */
const RENAMING_MS = 1000;

/**
 * Makes the branch on a remote that has no branch at all: an empty remote that a transport is
 * given, or a remote that lost everything. A remote with other branches has the bus under another
 * name, or lost it, and a second bus beside the first helps nobody (protocol.md §5).
 *
 * @param isGone the remote had the branch: it is asked twice whether it has no branch at all
 */
export async function makeBranch(
  repository: Repository,
  commit: string,
  signal: AbortSignal | undefined,
  isGone = false,
): Promise<Failure | undefined> {
  const { git, branch, dir, ref } = repository;
  if (ref !== undefined)
    return isGone ? goneFrom(ref) : pushCommit(repository, commit, { signal, expected: '' });
  let found = await remoteRefs(git, 'origin');
  if (isGone && found.ok && found.branches.length === 0) {
    await sleep(RENAMING_MS, undefined, { ...(signal && { signal }) }).catch(() => undefined);
    found = await remoteRefs(git, 'origin');
  }
  if (!found.ok) return found.failure;
  if (found.branches.length === 0) return pushCommit(repository, commit, { signal, expected: '' });
  // The clone has not seen the branch yet, or its record of the branch was damaged: the branch is
  // fetched first.
  if (found.branches.includes(branch))
    return { kind: 'behind', reason: `the remote has ${branch}, which was not fetched yet` };
  const names = found.branches.slice(0, 5).map(shown).join(', ');
  return {
    kind: 'no_branch',
    reason: `the remote has no branch ${branch}, but ${names}; if it was renamed, say so with: git -C ${dir} config crosstalk.branch <name>, and accept that with: crosstalk host approve; else put it back as this machine knows it: crosstalk sync --recreate`,
  };
}

/** Another clone's `git push --mirror`, or a forge's mirror, removes every ref that it has not. */
function goneFrom(ref: string): Failure {
  return {
    kind: 'no_branch',
    reason: `the remote has ${ref} no more: somebody has removed it, as git push --mirror does from a clone of the project; nothing is lost here: put it back with: crosstalk sync --recreate`,
  };
}

/**
 * Puts the bus in the place of another one, whose history stays on the remote under {@link keptRef}.
 *
 * @param over the commit at which that one was seen, and is to be still
 * @returns the failure, if any
 */
export async function pushOver(
  repository: Repository,
  commit: string,
  over: string,
): Promise<Failure | undefined> {
  const ref = keptRef(remoteRefOf(repository), over);
  const failure = await pushCommit({ ...repository, ref }, over, { expected: '' });
  return failure ?? pushCommit(repository, commit, { expected: over });
}

/** Where a bus is kept that was seen at a commit of a ref, and is replaced there. */
export function keptRef(ref: string, commit: string): string {
  return `${ref}-replaced-${commit.slice(0, 12)}`;
}

/**
 * The branch that is the bus, where nobody has said which: the remote's default branch, else its
 * only branch, else the branch checked out here.
 *
 * The choice is kept for good, so nothing is chosen when a git call did not answer.
 *
 * @param remote its URL; undefined in solo mode
 * @throws CrosstalkError `git_failed` when git did not answer, or only a guess would be left
 */
export async function chooseBranch(
  git: Git,
  clone: Clone,
  remote: string | undefined,
): Promise<string> {
  const local = async (): Promise<string> =>
    (await headOf(clone))?.replace(/^refs\/heads\//, '') ?? 'main';
  if (remote === undefined) return local();
  const known = await knownDefault(git, clone);
  return known.branch ?? (await askRemote(git, known.tracked)) ?? local();
}

/** The default branch as the clone knows it, and how many of the remote's branches it knows. */
async function knownDefault(
  git: Git,
  clone: Clone,
): Promise<{ branch: string | undefined; tracked: number }> {
  const listed = await git.run(
    ['for-each-ref', '--format=%(refname:lstrip=3) %(symref:lstrip=3)', 'refs/remotes/origin/'],
    { env: { GIT_DIR: clone.gitDir } },
  );
  if (!listed.ok && listed.code === null) throw failed(git.dir, 'for-each-ref', listed.failure);
  const refs = listed.stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '));
  const head = refs.find(([name]) => name === 'HEAD')?.[1] ?? '';
  const only = refs.length === 1 ? refs[0]?.[0] : undefined;
  return { branch: head === '' ? only : head, tracked: refs.length };
}

/**
 * @param tracked how many branches the remote is known to have: of several none is chosen by a
 *   guess
 */
async function askRemote(git: Git, tracked: number): Promise<string | undefined> {
  const refs = await remoteRefs(git, 'origin');
  if (refs.ok) return refs.head ?? (refs.branches.length === 1 ? refs.branches[0] : undefined);
  if (!refs.answered || tracked > 1) throw failed(git.dir, 'ls-remote', refs.failure);
  return undefined;
}

/**
 * How a trace shows the object format that the remote names and git confirms, on a line of its own
 * or among other words.
 */
const SHA256 = /[<>] (?:.* )?object-format=sha256(?: |$)/m;

export type RemoteRefs =
  | {
      ok: true;
      head: string | undefined;
      branches: string[];
      /** The commit at which {@link PROJECT_REF} is; undefined without that ref. */
      bus: string | undefined;
      isSha256: boolean;
      /** Whether it only serves files, as a web server does that knows nothing of git. */
      isDumb: boolean;
    }
  /** `answered`: false when git was killed or ran out of time, so that it says nothing of the remote. */
  | { ok: false; failure: Failure; answered: boolean };

/**
 * The branches of a remote and which of them is its default; works before anything was fetched.
 *
 * @param trace a file to be made, by which also a remote without any branch tells its object format
 */
export async function remoteRefs(git: Git, remote: string, trace?: string): Promise<RemoteRefs> {
  const outcome = await git.run(
    ['ls-remote', '--symref', '--', remote, 'HEAD', 'refs/heads/*', PROJECT_REF],
    {
      network: true,
      ...(trace !== undefined && { env: { GIT_TRACE_PACKET: trace } }),
    },
  );
  if (!outcome.ok) return { ok: false, failure: outcome.failure, answered: outcome.code !== null };
  let head: string | undefined;
  const branches: string[] = [];
  let bus: string | undefined;
  const said = trace === undefined ? undefined : await readFile(trace, 'utf8').catch(() => '');
  let isSha256 = said !== undefined && SHA256.test(said);
  const isDumb = said !== undefined && !said.includes('packet:');
  for (const line of outcome.stdout.toString('utf8').split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    if (value.startsWith('ref: refs/heads/') && name === 'HEAD')
      head = value.slice('ref: refs/heads/'.length);
    else if (name === PROJECT_REF) bus = value;
    else if (name.startsWith('refs/heads/')) {
      branches.push(name.slice('refs/heads/'.length));
      isSha256 ||= value.length === 64;
    }
  }
  return { ok: true, head, branches, bus, isSha256, isDumb };
}
