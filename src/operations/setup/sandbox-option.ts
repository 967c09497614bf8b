import { accountOf } from '../../agents/account.ts';
import { needsOf } from '../../agents/sandbox.ts';
import { CrosstalkError } from '../../errors.ts';
import { findBackend } from '../../runner/sandbox/bubblewrap.ts';
import type { Surroundings } from '../locate.ts';

/** Whether a new actor is kept in a sandbox. */
export interface SandboxChoice {
  /** As given on the command line; undefined leaves it to the question, or to no sandbox. */
  wantsSandbox?: boolean;
  /** Asks whether the runs of an actor are to be kept in one. */
  askSandbox?: (actor: string) => Promise<boolean>;
}

/**
 * Whether the runs of a new actor are kept in the usual sandbox. That is proposed where this machine
 * can make one and the CLI is known, so that it works in one with its login and its model's hosts.
 *
 * @throws CrosstalkError `refused` when it was asked for, and this machine can make none
 */
export async function chooseSandbox(
  { env }: Pick<Surroundings, 'env'>,
  { wantsSandbox, askSandbox }: SandboxChoice,
  { actor, cli }: { actor: string; cli: string },
): Promise<{ sandbox?: 'default' }> {
  const account = accountOf(cli);
  const isKnown = account !== undefined && needsOf(account.agent) !== undefined;
  const isAsked = wantsSandbox === undefined && askSandbox !== undefined && isKnown;
  if (wantsSandbox !== true && !isAsked) return {};
  const backend = await findBackend(env);
  if (!backend.ok) {
    if (wantsSandbox !== true) return {};
    throw new CrosstalkError(
      'refused',
      `--sandbox: ${backend.problem}; ${backend.fix}, or leave --sandbox out`,
    );
  }
  return wantsSandbox === true || (await askSandbox?.(actor)) === true
    ? { sandbox: 'default' }
    : {};
}
