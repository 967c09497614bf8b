import { dirname, join, resolve, sep, delimiter } from 'node:path';
import { readDispatch, type Dispatch } from '../agents/dispatch-variables.ts';
import { atPath } from '../at-path.ts';
import { CrosstalkError } from '../errors.ts';
import type { AgentMode } from './agent-mode.ts';
import { VERSION_FILE } from '../protocol/layout.ts';
import type { Clock } from '../clock.ts';
import { realpathSync } from 'node:fs';
import { plainFileAt } from '../plain-file.ts';
import { stateHome } from '../state/directory.ts';
import { busOfProject } from '../state/registry.ts';
import { access, constants } from 'node:fs/promises';

/** The surroundings in which a command runs; read once and passed along. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Set when an agent's run gives the command (trust.md §3). */
  agentMode?: AgentMode;
  /** The dispatch of the command, if already known; otherwise `env` names it. */
  dispatch?: Dispatch;
  /** A replacement for the clock and random numbers of this machine. */
  clock?: Clock;
}

/** Returns the sender that the surroundings determine: the actor of the dispatch, otherwise `CROSSTALK_FROM`. */
export function writerOf(surroundings: Surroundings): string | undefined {
  const from = surroundings.env['CROSSTALK_FROM'];
  return dispatchOf(surroundings).actor ?? (from === '' ? undefined : from);
}

/** Returns the dispatch that a command belongs to. */
export function dispatchOf({ env, dispatch }: Surroundings): Dispatch {
  return dispatch ?? readDispatch(env);
}

/**
 * Finds the transport of a command (cli.md): `--transport`, `CROSSTALK_TRANSPORT`, or the nearest folder
 * upward that contains `upstream/CROSSTALK-VERSION`; failing that, the bus of the project around; failing
 * that, the nearest repository, for a checkout that is on another branch.
 */
export function locateTransport({ env, cwd }: Surroundings, option: string | undefined): string {
  const given = option ?? env['CROSSTALK_TRANSPORT'];
  if (given !== undefined && given !== '') {
    const dir = resolve(cwd, given);
    if (exists(dir)) return dir;
    throw new CrosstalkError(
      'not_found',
      `no transport at ${dir}: the folder does not exist; make one with: crosstalk init ${given}`,
    );
  }
  const found = nearest(cwd, VERSION_FILE) ?? busAround(env, cwd) ?? nearest(cwd, '.git');
  if (found !== undefined) return found;
  throw new CrosstalkError(
    'not_found',
    `no transport found from ${cwd} upward; go into one, name it with --transport <dir> or CROSSTALK_TRANSPORT, or make one with: crosstalk init <dir>`,
  );
}

/** Finds the transport that contains a folder, which need not exist yet; undefined outside of one. */
export function transportAround(dir: string): string | undefined {
  return nearest(dir, VERSION_FILE);
}

function nearest(from: string, marker: string): string | undefined {
  for (let dir = from; ; dir = dirname(dir)) {
    if (exists(join(dir, marker))) return dir;
    if (dirname(dir) === dir) return undefined;
  }
}

function exists(path: string): boolean {
  return atPath(path, { follow: true }) !== undefined;
}

/** Maximum bytes of the files in which git names a git directory. */
const MAX_POINTER = 8 * 1024;

/** A git repository around a folder, found without asking git. */
export interface Project {
  /** The top of the work tree. */
  top: string;
  /** The git directory that linked work trees share, without symlinks. */
  commonDir: string;
}

/**
 * Lists the git repositories around a folder, the nearest first: after a submodule comes its
 * superproject. Folders in the state of transports, such as the copies of runs, are skipped.
 */
export function* projectsAround(env: NodeJS.ProcessEnv, from: string): Generator<Project> {
  const state = real(stateHome(env));
  for (let dir = real(from); ; dir = dirname(dir)) {
    const commonDir = `${dir}${sep}`.startsWith(`${state}${sep}`) ? undefined : commonDirIn(dir);
    if (commonDir !== undefined) yield { top: dir, commonDir };
    if (dirname(dir) === dir) return;
  }
}

/** Finds the clone of the bus that belongs to a project around a folder; undefined without one. */
function busAround(env: NodeJS.ProcessEnv, from: string): string | undefined {
  for (const { commonDir } of projectsAround(env, from)) {
    const bus = busOfProject(stateHome(env), commonDir);
    if (bus?.isSame === true) return bus.clone;
  }
  return undefined;
}

function commonDirIn(dir: string): string | undefined {
  const plain = join(dir, '.git');
  if (isGitDir(plain)) return real(plain);
  const gitDir = pointer(plain, /^gitdir: (.*)$/m);
  if (gitDir === undefined) return undefined;
  const at = resolve(dir, gitDir);
  if (!isGitDir(at)) return undefined;
  return real(resolve(at, pointer(join(at, 'commondir'), /^(.*)$/m) ?? '.'));
}

function isGitDir(path: string): boolean {
  return atPath(join(path, 'HEAD'), { follow: true })?.isFile() === true;
}

function pointer(path: string, pattern: RegExp): string | undefined {
  const file = plainFileAt(path, MAX_POINTER);
  const named = file.kind === 'text' ? pattern.exec(file.text)?.[1]?.trim() : undefined;
  return named === '' ? undefined : named;
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Returns the first of some programs that is found on a PATH. */
export async function firstOnPath(
  programs: readonly string[],
  path: string,
): Promise<string | undefined> {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const program of programs) {
    for (const folder of folders) {
      if (await isExecutable(join(folder, program))) return program;
    }
  }
  return undefined;
}

/** Whether a program can be started in a folder, by its path or through a PATH. */
export async function canStart(program: string, path: string, cwd: string): Promise<boolean> {
  if (program.includes('/')) return isExecutable(resolve(cwd, program));
  return (await firstOnPath([program], path)) !== undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
