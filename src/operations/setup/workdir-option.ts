import { resolve } from 'node:path';
import { workdirOf } from '../../dispatcher/laying/workdir.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { isWorkdir } from '../../protocol/files/workdir.ts';
import { stateHome } from '../../state/directory.ts';
import { findSource, startOf } from '../../transport/worktree/source.ts';
import type { Surroundings } from '../locate.ts';
import { projectsAround } from '../project.ts';

/** The options of `init` about the working directory of its actor. */
export interface WorkdirInput {
  /** Where the actor works; by default in a workspace for each thread. */
  workdir?: string;
  /** The repository of which each thread gets a copy to work in. */
  worktree?: string;
}

/**
 * A working directory, or a repository of which threads get copies, as the host file will contain it: as it
 * was given if it is below `~`, otherwise absolute.
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
 * The git repository around the working directory of which each thread can get a copy; undefined where there is
 * none, or it has no commit yet.
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
 * Where an actor works, by `--workdir` or `--worktree`.
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
