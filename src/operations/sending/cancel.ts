import type { Context } from '../context.ts';
import { findMessage } from '../reading/read.ts';
import type { SendInput, Sent } from './input.ts';
import { send, senderIn, type SendOptions } from './send.ts';

/** A cancellation as its sender gives it, by any interface. */
export interface CancelInput {
  /** The message to take back, in any form in which one may be named. */
  message: string;
  /** Why. */
  reason?: string | undefined;
  /** Whether the tasks that others were given for it go on. */
  only: boolean;
  from?: string;
  wait: boolean;
  login: string;
}

/** What was taken back, and the message that does it. */
export interface Cancelled extends Sent {
  /** The relPath of the message that was taken back. */
  cancelled: string;
}

/**
 * Takes a message back (talk.md, "Cancelling"): what waits for it or runs for it is ended, here at once
 * and on other hosts when the bus has told them.
 *
 * @throws CrosstalkError `usage` when somebody else wrote it; as {@link send} does, and for the
 *   message's name; nothing is written then
 */
export async function cancel(
  context: Context,
  { message, reason = '', only, ...input }: CancelInput,
  options: SendOptions = {},
): Promise<Cancelled> {
  // Resolved here, because a dispatcher must not be kept busy by building an index.
  const { channel, relPath } = await findMessage(context, message);
  const said: SendInput = {
    ...input,
    to: '',
    body: reason,
    isNew: false,
    cancels: `${channel}/${relPath}`,
    only,
  };
  return { ...(await send(senderIn(context), said, options)), cancelled: relPath };
}
