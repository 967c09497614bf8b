import { readdir, realpath } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { stateHome } from '../../state/directory.ts';
import { acquire } from '../../state/lock.ts';
import { busOfProject, digestOf, linkProject, projectsIn } from '../../state/registry.ts';
import { findClone } from '../../transport/clone/clone.ts';
import { ofClone, parseScoped, readClone, valueOf } from '../../transport/clone/settings.ts';
import type { InProject } from '../../transport/clone/setup.ts';
import { Git } from '../../transport/git/git.ts';
import { redact } from '../../transport/git/failure.ts';
import { startOf } from '../../transport/worktree/source.ts';
import { transportAround, type Surroundings, projectsAround, type Project } from '../locate.ts';
import type { InitInput } from './input.ts';

/** A plan for the bus at the project's own remote, before anything is created. */
export interface ProjectPlan {
  /** The top of its work tree. */
  top: string;
  commonDir: string;
  /** The path for the clone of the bus. */
  clone: string;
  /** The remote's address, after git's own rewriting; undefined without a remote. */
  url?: string;
  /** The settings with which the project reaches it. */
  settings: InProject['settings'];
  /** The repository that each thread gets a copy of; undefined without a commit. */
  worktree?: string;
  /** The clone of the project's earlier bus, which another bus replaces. */
  before?: string;
  /** Releases the lock, so that the next `init` in a project can start. */
  release: () => Promise<void>;
}

/** The setting of a clone for its push URL, if that differs from its fetch URL. */
export const PUSH_URL = 'remote.origin.pushurl';

/** Settings of the project by which its remote is reached, and its committer. */
const HOW =
  /^(?:core\.(?:sshcommand|askpass)|ssh\.variant|user\.(?:name|email)|(?:credential|https?)\..*)$/;

/**
 * Plans the bus of the project around the working directory, at the project's own remote.
 *
 * @returns undefined outside of a project, in a transport, and when a folder or another remote was named
 * @throws CrosstalkError `refused` when its bus is here already, `usage` when it has several remotes
 */
export async function planProject(
  { env, cwd }: Surroundings,
  input: Pick<InitInput, 'dir' | 'remote' | 'join' | 'askRemote'>,
): Promise<ProjectPlan | undefined> {
  if (input.dir !== undefined || transportAround(cwd) !== undefined) return undefined;
  const [project] = projectsAround(env, cwd);
  if (project === undefined) return undefined;
  const { top, commonDir } = project;
  // A home folder in git does not make each folder in it a project.
  if (
    top === (await realpath(env['HOME'] ?? homedir()).catch(() => '')) &&
    top !== (await realpath(cwd))
  )
    return undefined;
  const git = new Git(top, env);
  await assertTrusted(git);
  const theirs = await readClone(git, await findClone(top));
  const ours = await new Git(tmpdir(), env).run(['config', '--list', '-z', '--show-scope']);
  const all = theirs.map(({ setting }) => setting);
  const remotes = [
    ...new Set(all.flatMap(([name]) => /^remote\.(.+)\.url$/.exec(name)?.[1] ?? [])),
  ];
  if (input.remote !== undefined && !remotes.includes(input.remote)) return undefined;
  // A clone of an empty repository becomes a transport of its own; a repository created here without a
  // commit is a project.
  const isEmpty = (await readdir(top)).every((entry) => entry === '.git');
  if (remotes.length > 0 && isEmpty && !(await hasCommit(top))) return undefined;
  const name = input.join === undefined ? await chooseRemote(remotes, input) : undefined;
  const own = ofClone(theirs, parseScoped(ours.stdout.toString('utf8')));
  const address = name === undefined ? input.join : await addressOf(git, name);
  const pushed = name === undefined ? undefined : await pushAddressOf(git, name);
  const url = address === undefined ? undefined : placed(address, top);
  const release = await turnOf(env);
  let before: string | undefined;
  try {
    before = await assertNew(env, project, { url, joins: input.join !== undefined });
  } catch (error) {
    await release();
    throw error;
  }
  return {
    release,
    ...(before !== undefined && { before }),
    top,
    commonDir,
    clone: await freeFolder(
      join(dataHome(env), `${plainName(top)}-${digestOf(commonDir).slice(0, 8)}`),
    ),
    ...(url !== undefined && { url }),
    settings: [
      ...own.filter(([key]) => HOW.test(key)),
      ...(pushed === undefined || pushed === address
        ? []
        : [[PUSH_URL, placed(pushed, top)] as const]),
    ],
    ...((await hasCommit(top)) && { worktree: topOf(commonDir, top) }),
  };
}

/**
 * Makes sure that git itself would work in a project: git refuses to run commands of another user's
 * configuration.
 *
 * @throws CrosstalkError `refused`
 */
async function assertTrusted(git: Git): Promise<void> {
  const asked = await git.run(['rev-parse', '--git-dir']);
  if (!asked.ok)
    throw new CrosstalkError(
      'refused',
      `git does not work in ${git.dir}: ${asked.failure.reason}; or make a bus elsewhere: crosstalk init <dir>`,
    );
}

/** Milliseconds to wait for another `init`, which may be asking somebody. */
const WAIT_MS = 60_000;

/**
 * Waits until no other `init` creates the bus of a project: two would make one clone, and each remove
 * that of the other.
 *
 * @throws CrosstalkError `refused` when the other one does not finish
 */
async function turnOf(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  const lock = await acquire(projectsIn(stateHome(env)), 'init', { wait: WAIT_MS });
  if (lock.ok) return lock.release;
  throw new CrosstalkError(
    'refused',
    `process ${String(lock.holder.pid)} has been making the bus of a project since ${lock.holder.since}; nothing was made, try again when it has ended`,
  );
}

/**
 * Makes sure that a project has no bus on this machine yet. The bus of a clone that was at the same path
 * before is used again.
 *
 * @returns the clone that it has, when another bus is to be joined
 * @throws CrosstalkError `refused` when it has one
 */
async function assertNew(
  env: NodeJS.ProcessEnv,
  { top, commonDir }: Project,
  { url, joins }: { url: string | undefined; joins: boolean },
): Promise<string | undefined> {
  const known = busOfProject(stateHome(env), commonDir);
  if (known === undefined) return undefined;
  const { clone, isSame } = known;
  if (isSame && joins) return clone;
  const settings = await readClone(new Git(clone, env), await findClone(clone));
  const all = settings.map(({ setting }) => setting);
  const origin = valueOf(all, 'remote.origin.url');
  if (!isSame && origin !== url) return undefined;
  if (!isSame) await linkProject(stateHome(env), commonDir, clone);
  const where =
    origin === undefined && url !== undefined
      ? `, without a remote; give it the project's with: git -C ${clone} remote add origin ${redact(url)}, and accept that as it says: crosstalk host show`
      : '; see how it is with: crosstalk status';
  throw new CrosstalkError('refused', `the bus of ${top} is here already${where}`);
}

/** Returns a folder that does not exist yet: one may be left of a project that was at the same path before. */
async function freeFolder(wanted: string): Promise<string> {
  let folder = wanted;
  for (let n = 2; (await readdir(folder).catch(() => [])).length > 0; n++)
    folder = `${wanted}-${String(n)}`;
  return folder;
}

/** Returns the main one of linked work trees. */
function topOf(commonDir: string, top: string): string {
  return basename(commonDir) === '.git' ? dirname(commonDir) : top;
}

async function hasCommit(top: string): Promise<boolean> {
  return startOf(await findClone(top), undefined).then(
    () => true,
    () => false,
  );
}

async function chooseRemote(
  remotes: readonly string[],
  { remote, askRemote }: Pick<InitInput, 'remote' | 'askRemote'>,
): Promise<string | undefined> {
  if (remote !== undefined || remotes.length < 2) return remote ?? remotes[0];
  const answer = (await askRemote?.(remotes))?.trim();
  if (answer !== undefined && remotes.includes(answer)) return answer;
  throw new CrosstalkError(
    'usage',
    `the project has several remotes: ${remotes.map(shown).join(', ')}; say which one is to carry the bus with --remote <name>`,
  );
}

/** Returns the address of a remote after git's own rewriting; this runs no command. */
async function addressOf(git: Git, name: string): Promise<string> {
  const said = await git.must(['ls-remote', '--get-url', '--', name]);
  return said.toString('utf8').trim();
}

/** Returns the address to which git pushes, after git's own rewriting. */
async function pushAddressOf(git: Git, name: string): Promise<string> {
  const said = await git.must(['remote', 'get-url', '--push', '--', name]);
  return said.toString('utf8').trim();
}

function placed(address: string, top: string): string {
  return /^\w+:\/\//.test(address) || /^[^/]+:/.test(address) ? address : resolve(top, address);
}

/** Returns a name for files and questions, from the last part of a path. */
export function plainName(top: string): string {
  const name = basename(top).replace(/[^A-Za-z0-9._-]+/g, '-');
  return /^[A-Za-z0-9]/.test(name) ? name.slice(0, 64) : 'project';
}

/** Returns the folder for the clones of buses, which their projects do not see. */
export function dataHome(env: NodeJS.ProcessEnv): string {
  const base = env['XDG_DATA_HOME'] ?? '';
  const home = env['HOME'] ?? homedir();
  return join(isAbsolute(base) ? base : join(home, '.local', 'share'), 'crosstalk');
}
