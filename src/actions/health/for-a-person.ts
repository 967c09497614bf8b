import { OpenPermissions } from '../../state/permissions/open-permissions.ts';
import { listGated } from '../lookup/gated.ts';
import type { Context } from '../context.ts';

/** What waits on this machine until a person decides on it. */
export type ForAPerson = Record<'plan' | 'permission' | 'secret', number>;

/**
 * Counts what only a person ends: plans at a gate that nobody has decided on, tool calls that wait for
 * permission, and what is held because it looks like a secret.
 */
export async function forAPerson(context: Pick<Context, 'paths' | 'outbox'>): Promise<ForAPerson> {
  const [gated, permissions, held] = await Promise.all([
    listGated(context),
    new OpenPermissions(context.paths.root).all(),
    context.outbox.held(),
  ]);
  return {
    plan: gated.filter(({ approved }) => !approved).length,
    permission: permissions.length,
    secret: held.length,
  };
}
