import { dirname } from 'node:path';
import { accountOf } from '../../agents/account.ts';
import { needsOf } from '../../agents/sandbox.ts';
import { hiddenProgram } from '../../dispatcher/sandbox/program.ts';
import { CrosstalkError } from '../../errors.ts';
import { findBackend } from '../../runner/sandbox/bubblewrap.ts';
import type { Surroundings } from '../locate.ts';

/** Whether a new actor is kept in a sandbox. */
export interface SandboxChoice {
  /** As given on the command line; without it there is none. */
  wantsSandbox?: boolean;
  /** Called where nothing is given, and this machine could keep the actor in one. */
  suggestSandbox?: () => void;
}

/**
 * Whether the runs of a new actor are kept in the usual sandbox. It is suggested where this machine can
 * make one and the CLI is known, so that it works in one with its login and its model's hosts; but a
 * sandbox takes the network from an agent, so nobody gets one who has not asked for it.
 *
 * @throws CrosstalkError `refused` when it was asked for, and this machine can make none, or none that shows the CLI
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

/** How the runs of an actor are put into a sandbox later, and what that means, in one line. */
export function sandboxSuggestion(actor: string): string {
  return `To keep its runs from your keys, logins and files, and from the network but for its model: crosstalk actor set ${actor} sandbox=default`;
}
