import { resolve, dirname } from 'node:path';
import { workdirOf } from '../../dispatcher/staging/workdir.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { isWorkdir } from '../../protocol/files/tier-sandbox.ts';
import { stateHome } from '../../state/directory.ts';
import { findSource, startOf } from '../../transport/worktree/source.ts';
import { type Surroundings, projectsAround } from '../locate.ts';
import { accountOf } from '../../agents/agents.ts';
import { needsOf } from '../../agents/sandbox.ts';
import { hiddenProgram } from '../../dispatcher/sandbox/program.ts';
import { findBackend } from '../../runner/sandbox/bubblewrap.ts';

/** The options of `init` about the working directory of its actor. */
export interface WorkdirInput {
  /** The working directory; by default a workspace for each thread. */
  workdir?: string;
  /** The repository that each thread gets a copy of to work in. */
  worktree?: string;
}

/**
 * Returns a working directory, or a repository that threads get copies of, in the form for the host file:
 * unchanged if it is below `~`, otherwise absolute.
 *
 * @param transport the folder of the checkout, which may not exist yet
 * @throws CrosstalkError `usage` for a directory in which no run could work
 */
export async function chosenWorkdir(
  { env, cwd }: Surroundings,
  given: string,
  transport: string,
  option: 'workdir' | 'worktree' = 'workdir',
): Promise<string> {
  const workdir = /^~(?:\/|$)/.test(given) ? given : resolve(cwd, given);
  try {
    if (!isWorkdir(workdir)) throw new Error('its name has a control character in it');
    const place = { transport: { dir: transport }, paths: { root: stateHome(env) }, env };
    const folder = await workdirOf(place, workdir, option);
    if (option === 'worktree') await findSource(folder);
  } catch (error) {
    const why = reasonOf(error).replace(/; make it, or .*$/, '');
    const what = option === 'workdir' ? 'folder' : 'repository';
    throw new CrosstalkError('usage', `--${option}: ${why}; name a ${what} that is there`, {
      cause: error,
    });
  }
  return workdir;
}

/**
 * Finds the git repository around the working directory that threads can get copies of; undefined without
 * one, or without a commit in it.
 */
export async function repositoryHere(
  surroundings: Surroundings,
  transport: string,
): Promise<string | undefined> {
  try {
    const [project] = projectsAround(surroundings.env, surroundings.cwd);
    if (project === undefined) return undefined;
    const repository = await chosenWorkdir(surroundings, project.top, transport, 'worktree');
    await startOf(await findSource(repository), undefined);
    return repository;
  } catch {
    return undefined;
  }
}

/**
 * Chooses the place of an actor's work, by `--workdir` or `--worktree`.
 *
 * @throws CrosstalkError `usage` for a directory in which no run could work, or for both
 */
export async function choosePlace(
  surroundings: Surroundings,
  { workdir, worktree }: WorkdirInput,
  dir: string,
): Promise<WorkdirInput> {
  if (worktree !== undefined && workdir !== undefined)
    throw new CrosstalkError(
      'usage',
      '--workdir and --worktree were given; give --worktree for a copy for each thread, or --workdir for one folder for all',
    );
  if (worktree !== undefined)
    return { worktree: await chosenWorkdir(surroundings, worktree, dir, 'worktree') };
  if (workdir !== undefined) return { workdir: await chosenWorkdir(surroundings, workdir, dir) };
  return {};
}

/** The options about a sandbox for a new actor. */
export interface SandboxChoice {
  /** The choice on the command line; without it there is no sandbox. */
  wantsSandbox?: boolean;
  /** Called without a choice, if this machine could make a sandbox for the actor. */
  suggestSandbox?: () => void;
}

/**
 * Decides whether the runs of a new actor are in the usual sandbox. It is suggested if this machine can
 * make one and the CLI is known, so that it works there with its login and its model's hosts; but a
 * sandbox takes the network from an agent, so nobody gets one without a request.
 *
 * @throws CrosstalkError `refused` when it was requested, and this machine can make none, or none that
 *   shows the CLI
 */
export async function chooseSandbox(
  surroundings: Pick<Surroundings, 'env' | 'cwd'>,
  { wantsSandbox, suggestSandbox }: SandboxChoice,
  cli: string,
): Promise<{ sandbox?: 'default' }> {
  if (wantsSandbox !== true) {
    const suggests = wantsSandbox === undefined && suggestSandbox !== undefined;
    if (suggests && (await fitsSandbox(surroundings, cli))) suggestSandbox();
    return {};
  }
  const { env, cwd } = surroundings;
  const backend = await findBackend(env);
  const hidden = backend.ok ? await hiddenProgram({ command: cli, env, cwd }) : undefined;
  if (hidden !== undefined)
    throw new CrosstalkError(
      'refused',
      `--sandbox: it would not show ${hidden}, which the command is or needs; leave --sandbox out, write into the host file instead: sandbox: {read: [${JSON.stringify(dirname(hidden))}]}, and accept that with: crosstalk host approve`,
    );
  if (backend.ok) return { sandbox: 'default' };
  throw new CrosstalkError(
    'refused',
    `--sandbox: ${backend.problem}; ${backend.fix}, or leave --sandbox out`,
  );
}

/** Whether this machine can make a sandbox in which a command works, with its login and its model's hosts. */
export async function fitsSandbox(
  { env, cwd }: Pick<Surroundings, 'env' | 'cwd'>,
  cli: string,
): Promise<boolean> {
  const account = accountOf(cli);
  if (account === undefined || needsOf(account.agent) === undefined) return false;
  const backend = await findBackend(env);
  return backend.ok && (await hiddenProgram({ command: cli, env, cwd })) === undefined;
}

/** Describes in one line the command that puts an actor's runs into a sandbox later, and its effect. */
export function sandboxSuggestion(actor: string): string {
  return `To keep its runs from your keys, logins and files, and from the network but for its model: crosstalk actor set ${actor} sandbox=default`;
}
