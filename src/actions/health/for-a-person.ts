import { OpenPermissions } from '../../state/permissions/open-permissions.ts';
import { listGated } from '../lookup/gated.ts';
import type { Context } from '../context.ts';

/** Number of things that wait on this machine until a person decides on them. */
export type ForAPerson = Record<'plan' | 'permission' | 'secret', number>;

/**
 * Counts the things that only a person ends: plans at a gate that nobody has decided on, tool calls that wait for
 * permission, and entries held because they look like a secret.
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
