import { formatAddress } from '../../protocol/address.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { tipOf, type Context } from '../context.ts';
import { cancellationsHere, inForce, type Cancellation } from '../lookup/taken-back.ts';
import { findMessage } from '../reading/read.ts';
import { Board } from '../waiting/board.ts';
import type { SendInput, Sent } from './input.ts';
import { send, senderIn, type SendOptions } from './send.ts';

/** The input of a cancellation, from any interface. */
export interface CancelInput {
  /** The message to cancel, in any form of its name. */
  message: string;
  /** The reason. */
  reason?: string | undefined;
  /** Whether the tasks that others received for it continue. */
  only: boolean;
  /** Whether somebody else wrote it, and no host serves its addressees. */
  asOperator?: boolean;
  from?: string;
  wait: boolean;
  login: string;
}

/** The cancelled message, and the message that cancels it; that may have existed `already`. */
export interface Cancelled extends Sent {
  /** The relPath of the cancelled message. */
  cancelled: string;
  already?: true;
}

/**
 * Cancels a message (talk.md, "Cancelling"): mail that waits for it and runs for it are ended, here
 * immediately and on other hosts when they see it on the bus. An existing answer stays, which is noted.
 *
 * @throws CrosstalkError `usage` when somebody else wrote it; the errors of {@link send}, and of looking
 *   up the message; nothing is written then
 */
export async function cancel(
  context: Context,
  { message, reason = '', only, ...input }: CancelInput,
  options: SendOptions = {},
): Promise<Cancelled> {
  // Resolved here, because a dispatcher must not be kept busy by building an index.
  const { channel, relPath } = await findMessage(context, message);
  const earlier = await cancellationsHere(context, [{ channel, relPath }]).catch(() => []);
  const before = inForce(earlier.filter((one) => only || one.message.only !== true));
  // A second cancellation would add nothing to the first.
  if (before !== undefined) return { ...alreadySent(channel, before), cancelled: relPath };
  const said: SendInput = {
    ...input,
    to: '',
    body: reason,
    isNew: false,
    cancels: `${channel}/${relPath}`,
    only,
  };
  const sent = await send(senderIn(context), said, options);
  // It is cancelled by now, even if this check fails.
  if (await isAnswered(context, { channel, relPath }).catch(() => false))
    context.note(
      `${relPath} was answered before; the answer stays, and only what goes on is ended`,
    );
  return { ...sent, cancelled: relPath };
}

function alreadySent(
  channel: string,
  { relPath, message: { from, to, re, cause }, queued }: Cancellation,
): Omit<Cancelled, 'cancelled'> {
  return {
    channel,
    from,
    messages: [{ relPath, to: to.map(formatAddress), re, cause }],
    delivered:
      queued === true
        ? { published: false, reason: 'it waits in the outbox' }
        : { published: true, direct: false },
    already: true,
  };
}

async function isAnswered(context: Context, ref: MessageRef): Promise<boolean> {
  const board = await Board.at(context, await tipOf(context), [ref]);
  const [found] = await board.look({ isLive: false, explains: false });
  return found?.state === 'REPLIED';
}
