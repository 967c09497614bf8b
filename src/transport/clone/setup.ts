import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessOf, accessSettings, credentialsText, type Setting } from './access.ts';
import { Git } from '../git/git.ts';
import { setUpGit } from '../git/environment.ts';
import { configEntries, credentialsIn } from './own-git.ts';
import type { Failure } from '../git/failure.ts';
import { remoteRefs } from './branches.ts';
import { BRANCH_OF_PROJECT } from './handle.ts';
import { assertUsable } from './settings.ts';

/** The state of a URL from which a transport is to be made. */
export type RemoteState =
  | ({ kind: 'empty'; branch: string | undefined } & Found)
  | ({ kind: 'branches'; branch: string } & Found)
  | { kind: 'failed'; failure: Failure };

interface Found {
  /** The commit of a project's bus; undefined where the remote has none. */
  bus: string | undefined;
  /** Whether its bus is in the branch for remotes that accept no such ref. */
  hasBusBranch: boolean;
  isSha256: boolean;
  isDumb: boolean;
}

/**
 * Inspects a remote before anything is written; `branch` is its default, if it names one. A password in
 * the URL is kept in a temporary file, and is on no command line.
 *
 * @param how settings by which the remote is reached
 * @throws CrosstalkError `refused` for a remote for which git would run a command
 */
export async function inspectRemote(
  url: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
  how: readonly Setting[] = [],
): Promise<RemoteState> {
  assertUsable([['remote.origin.url', url]]);
  const scratch = await mkdtemp(join(tmpdir(), 'crosstalk-remote-'));
  try {
    const access = accessOf(url, cwd);
    const file = credentialsIn(scratch);
    const text = credentialsText(access);
    if (text !== undefined) await writeFile(file, text, { mode: 0o600 });
    const settings: Setting[] = [
      ['protocol.ext.allow', 'never'],
      ['protocol.fd.allow', 'never'],
      ['core.hooksPath', '/dev/null'],
      ...how,
      ...accessSettings(access, file),
    ];
    const git = new Git(scratch, { ...environment, ...asVariables(settings, environment) });
    git.useBatchSsh({ configured: how.some(([name]) => name === 'core.sshcommand') });
    const refs = await remoteRefs(git, access.url, join(scratch, 'packets'));
    if (!refs.ok) return { kind: 'failed', failure: refs.failure };
    const { head, branches, bus, isSha256, isDumb } = refs;
    const found = { bus, hasBusBranch: branches.includes(BRANCH_OF_PROJECT), isSha256, isDumb };
    const branch = head !== undefined && branches.includes(head) ? head : branches[0];
    return branch === undefined
      ? { kind: 'empty', branch: head ?? (await unbornBranch(git, access.url, scratch)), ...found }
      : { kind: 'branches', branch, ...found };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Returns settings as environment variables for a git without a configuration file of ours; nobody else
 * can read its environment.
 */
function asVariables(
  settings: readonly Setting[],
  environment: NodeJS.ProcessEnv,
): Record<string, string> {
  const there = Number(environment['GIT_CONFIG_COUNT'] ?? '0') || 0;
  const variables = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${String(there + index)}`, name],
    [`GIT_CONFIG_VALUE_${String(there + index)}`, value],
  ]);
  return {
    GIT_CONFIG_COUNT: String(there + settings.length),
    ...(Object.fromEntries(variables) as Record<string, string>),
  };
}

/** Name of a clone's branch when the remote did not name one: an old protocol, as over a plain sshd. */
const UNKNOWN_BRANCH = 'crosstalk-unknown';

/** Returns the default branch of an empty remote, which only a clone receives (git's `unborn` capability). */
async function unbornBranch(git: Git, url: string, scratch: string): Promise<string | undefined> {
  const folder = join(scratch, 'empty.git');
  const named = `init.defaultBranch=${UNKNOWN_BRANCH}`;
  const cloned = await git.run(['-c', named, 'clone', '--quiet', '--bare', '--', url, folder], {
    network: true,
  });
  if (!cloned.ok) return undefined;
  const head = await git.elsewhere(folder).run(['symbolic-ref', '--short', 'HEAD']);
  const branch = head.stdout.toString('utf8').trim();
  return head.ok && branch !== UNKNOWN_BRANCH ? branch : undefined;
}

/** A bus at the remote of a project. */
export interface InProject {
  /** Its ref there, unless it is a branch. */
  ref?: string;
  /** The settings by which the project reaches that remote. */
  settings: readonly Setting[];
}

/** A repository to be created for a transport. */
interface NewRepository {
  branch: string;
  /** The remote for fetches and pushes, and its object format. */
  remote?: { url: string; isSha256: boolean };
  project?: InProject | undefined;
  /** The default sender. */
  from?: string | undefined;
  /** Number of days of messages that its checkout shows. */
  window?: string | undefined;
}

/** A setting with its value, or undefined for none. */
type Wanted = readonly [name: string, value: string | undefined];

/**
 * Creates an empty clone of a transport in a folder: its commits are fetched once the transport is open
 * (see `Transport.bring`).
 *
 * @param cwd an existing folder to run git in, since `dir` may not exist yet
 */
export async function makeClone(
  wanted: NewRepository & { remote: { url: string; isSha256: boolean; isDumb: boolean } },
  dir: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  await initialise(wanted, dir, cwd, environment);
  // With a remote without filters, git would request missing objects through a git that requests them the
  // same way, without end.
  const partial: readonly Wanted[] = wanted.remote.isDumb
    ? []
    : [
        ['remote.origin.promisor', 'true'],
        ['remote.origin.partialclonefilter', 'blob:none'],
      ];
  await configure(dir, wanted, [['core.repositoryformatversion', '1'], ...partial]);
}

/**
 * Creates an empty repository for a new transport, whose first commit is made once the transport is open
 * (see `Transport.begin`).
 *
 * @param how `isThere`: the folder is a clone of the empty remote already
 */
export async function makeRepository(
  dir: string,
  environment: NodeJS.ProcessEnv,
  { remote, ...wanted }: NewRepository,
  { isThere }: { isThere: boolean },
): Promise<void> {
  const repository = { ...wanted, ...(remote !== undefined && !isThere && { remote }) };
  if (!isThere) await initialise(repository, dir, dir, environment);
  await configure(dir, repository, []);
}

/** Runs `git init` with the remote's object format: a remote accepts no other, whatever the user's default is. */
async function initialise(
  { branch, remote }: NewRepository,
  dir: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const format = remote && `--object-format=${remote.isSha256 ? 'sha256' : 'sha1'}`;
  const how = ['--quiet', `--initial-branch=${branch}`, ...(format === undefined ? [] : [format])];
  await new Git(cwd, environment).must(['init', ...how, '--', dir]);
}

/** Adds to a new repository's configuration, in its file and not on a command line: a URL may hold a password. */
async function configure(
  dir: string,
  { branch, remote, project, from, window }: NewRepository,
  more: readonly Wanted[],
): Promise<void> {
  const ofRemote: readonly Wanted[] =
    remote === undefined
      ? []
      : [
          ['remote.origin.url', remote.url],
          ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
          [`branch.${branch}.remote`, 'origin'],
          [`branch.${branch}.merge`, `refs/heads/${branch}`],
        ];
  const wanted: readonly Wanted[] = [
    ...more,
    ...ofRemote,
    ['crosstalk.branch', branch],
    ['crosstalk.ref', project?.ref],
    ...(project?.settings ?? []),
    ['crosstalk.from', from],
    ['crosstalk.window', window],
  ];
  const file = join(dir, '.git', 'config');
  await chmod(file, 0o600);
  const settings = wanted.filter((one): one is Setting => one[1] !== undefined);
  await appendFile(file, configEntries(settings));
}

/** Returns git's branch name for a new repository; `main` when none is configured. */
export async function defaultBranch(environment: NodeJS.ProcessEnv): Promise<string> {
  const configured = await setUpGit(tmpdir(), environment)
    .raw(['config', '--get', 'init.defaultBranch'])
    .catch(() => '');
  return configured.trim() === '' ? 'main' : configured.trim();
}
