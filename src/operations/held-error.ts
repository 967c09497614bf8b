import { CrosstalkError } from '../errors.ts';
import type { Context } from './context.ts';

/**
 * The error of whoever wrote something that is held because of a secret. A run is told what it can do
 * itself; a person also how to let it go, which no run can.
 *
 * @param id of the outbox entry
 * @param said what was found and where, without showing it
 */
export function heldError(
  { dispatch, agentMode }: Pick<Context, 'dispatch' | 'agentMode'>,
  id: string,
  said: string,
): CrosstalkError {
  const isPerson = dispatch.id === undefined && agentMode === undefined;
  const next = isPerson
    ? `send it again without that, or let it go as it is with: crosstalk outbox --allow-secret ${id}, or forget it with: crosstalk outbox --drop ${id}`
    : 'leave that out and send it again; what is held stays on this machine for its operator';
  return new CrosstalkError('held', `held, not sent, as it looks like a secret: ${said}; ${next}`);
}
