import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simpleGit } from 'simple-git';
import { Git } from './git.ts';
import { DEFAULT_COMMITTER } from './repository.ts';
import type { Failure } from './failure.ts';
import { remoteRefs } from './remote.ts';

/** What stands at a URL that a transport is to be made from. */
export type RemoteState =
  | { kind: 'empty'; branch: string | undefined }
  | { kind: 'branches'; branch: string }
  | { kind: 'failed'; failure: Failure };

/** Looks at a remote before anything is written; `branch` is its default, if it tells one. */
export async function inspectRemote(
  url: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
): Promise<RemoteState> {
  const git = new Git(cwd, environment);
  git.useBatchSsh(false);
  const refs = await remoteRefs(git, url);
  if (!refs.ok) return { kind: 'failed', failure: refs.failure };
  const { head, branches } = refs;
  const branch = head !== undefined && branches.includes(head) ? head : branches[0];
  return branch === undefined
    ? { kind: 'empty', branch: head ?? (await unbornBranch(git, url)) }
    : { kind: 'branches', branch };
}

/** What a clone calls its branch when the remote did not say: an old protocol, as over a plain sshd. */
const UNKNOWN_BRANCH = 'crosstalk-unknown';

/** The branch an empty remote expects; only a clone is told (git's `unborn` capability). */
async function unbornBranch(git: Git, url: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'crosstalk-remote-'));
  try {
    const named = `init.defaultBranch=${UNKNOWN_BRANCH}`;
    const cloned = await git.run(['-c', named, 'clone', '--quiet', '--bare', '--', url, folder], {
      network: true,
    });
    if (!cloned.ok) return undefined;
    const head = await git.run(['-C', folder, 'symbolic-ref', '--short', 'HEAD']);
    const branch = head.stdout.toString('utf8').trim();
    return head.ok && branch !== UNKNOWN_BRANCH ? branch : undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Clones one branch of a transport into an empty or missing folder; the failure, if any. */
export async function cloneTransport(
  url: string,
  dir: string,
  branch: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
  window?: string,
): Promise<Failure | undefined> {
  const git = new Git(cwd, environment);
  git.useBatchSsh(false);
  const narrow = window === undefined ? [] : ['--sparse'];
  const cloned = await git.run(
    // A remote that knows no filters sends everything.
    ['clone', '--quiet', '--no-tags', '--filter=blob:none', ...narrow, '--branch', branch].concat([
      '--',
      url,
      dir,
    ]),
    {
      network: true,
      timeout: 30 * 60_000,
    },
  );
  if (!cloned.ok) return cloned.failure;
  const made = new Git(dir, environment);
  await made.must(['config', 'crosstalk.branch', branch]);
  if (window !== undefined) await made.must(['config', 'crosstalk.window', window]);
  return undefined;
}

/**
 * Makes a repository of the files that stand in `dir`: one first commit on `branch`. Set-up work,
 * where simple-git's convenience costs nothing; its 50 ms after silent commands do not matter.
 */
export async function createRepository(
  dir: string,
  options: {
    branch: string;
    remote?: string;
    subject: string;
    author: { name: string; email: string };
  },
): Promise<void> {
  const { branch, remote, subject, author } = options;
  const git = simpleGit({
    baseDir: dir,
    config: ['commit.gpgSign=false', 'core.hooksPath=/dev/null'],
    unsafe: { allowUnsafeHooksPath: true },
  });
  await git.init(['--quiet', `--initial-branch=${branch}`]);
  await git.addConfig('crosstalk.branch', branch);
  if (remote !== undefined) await git.addRemote('origin', remote);
  await git.add('.');
  const identity = await git.raw(['config', '--get', 'user.email']).catch(() => '');
  const committer =
    identity.trim() === ''
      ? ['-c', `user.name=${DEFAULT_COMMITTER.name}`, '-c', `user.email=${DEFAULT_COMMITTER.email}`]
      : [];
  await git.raw([
    ...committer,
    'commit',
    '--quiet',
    `--author=${author.name} <${author.email}>`,
    '-m',
    subject,
  ]);
}

/** The branch name git would give a new repository here, `main` when it has no opinion. */
export async function defaultBranch(): Promise<string> {
  const configured = await simpleGit()
    .raw(['config', '--get', 'init.defaultBranch'])
    .catch(() => '');
  return configured.trim() === '' ? 'main' : configured.trim();
}
