import { realpathSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { atPath } from '../at-path.ts';
import { plainFileAt } from '../plain-file.ts';
import { stateHome } from '../state/directory.ts';
import { busOfProject } from '../state/registry.ts';

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
export function busAround(env: NodeJS.ProcessEnv, from: string): string | undefined {
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
