import { dirname, join, resolve } from 'node:path';
import { readDispatch, type Dispatch } from '../agents/dispatch-variables.ts';
import { atPath } from '../at-path.ts';
import { CrosstalkError } from '../errors.ts';
import type { AgentMode } from './agent-mode.ts';
import { VERSION_FILE } from '../protocol/layout.ts';
import { busAround } from './project.ts';
import type { Clock } from '../clock.ts';

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
