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
 * The ref that is the bus at a project's own remote. It is neither a branch nor a tag, so that clones,
 * fetches and lists of branches ignore it.
 */
export const PROJECT_REF = 'refs/crosstalk/bus';

/** Milliseconds until a branch that is being renamed is certainly visible: for a moment neither name exists. */
const RENAMING_MS = 1000;

/**
 * Creates the branch on a remote that has no branch at all: the empty remote of a new transport, or a
 * remote that lost everything. A remote with other branches has the bus under another name, or lost it,
 * and a second bus beside the first helps nobody (protocol.md §5).
 *
 * @param isGone whether the remote had the branch: then it is asked twice whether it has no branch at all
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

/**
 * Builds the failure for a removed ref: another clone's `git push --mirror`, or a forge's mirror, removes
 * every ref that it does not have.
 */
function goneFrom(ref: string): Failure {
  return {
    kind: 'no_branch',
    reason: `the remote has ${ref} no more: somebody has removed it, as git push --mirror does from a clone of the project; nothing is lost here: put it back with: crosstalk sync --recreate`,
  };
}

/**
 * Replaces another bus by this one; the other's history stays on the remote under {@link keptRef}.
 *
 * @param over the commit at which the other bus was seen, and must still be
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

/** Returns the ref that keeps a replaced bus, by the commit at which it was seen. */
export function keptRef(ref: string, commit: string): string {
  return `${ref}-replaced-${commit.slice(0, 12)}`;
}

/**
 * Chooses the branch that is the bus, where none is configured: the remote's default branch, else its
 * only branch, else the branch checked out here.
 *
 * The choice is permanent, so nothing is chosen when a git call did not answer.
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

/** Reads the default branch from the clone, and the number of the remote's branches that it knows. */
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

/** @param tracked number of known branches of the remote: among several, none is chosen by a guess */
async function askRemote(git: Git, tracked: number): Promise<string | undefined> {
  const refs = await remoteRefs(git, 'origin');
  if (refs.ok) return refs.head ?? (refs.branches.length === 1 ? refs.branches[0] : undefined);
  if (!refs.answered || tracked > 1) throw failed(git.dir, 'ls-remote', refs.failure);
  return undefined;
}

/**
 * The object format in a trace that the remote names and git confirms, on a line of its own or among
 * other words.
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
      /** Whether the remote only serves files, like a web server without git. */
      isDumb: boolean;
    }
  /** `answered`: false when git was killed or timed out, so that nothing is known of the remote. */
  | { ok: false; failure: Failure; answered: boolean };

/**
 * Lists the branches of a remote and its default branch; works before the first fetch.
 *
 * @param trace a file to be created, from which the object format of a remote without branches is read
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
