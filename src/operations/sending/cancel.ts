import { formatAddress } from '../../protocol/address.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { tipOf, type Context } from '../context.ts';
import { cancellationsHere, inForce, type Cancellation } from '../lookup/taken-back.ts';
import { findMessage } from '../reading/read.ts';
import { Board } from '../waiting/board.ts';
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
  /** Whether somebody else wrote it, and no host serves its addressees. */
  asOperator?: boolean;
  from?: string;
  wait: boolean;
  login: string;
}

/** What was taken back, and the message that does it; it may have been there `already`. */
export interface Cancelled extends Sent {
  /** The relPath of the message that was taken back. */
  cancelled: string;
  already?: true;
}

/**
 * Takes a message back (talk.md, "Cancelling"): what waits for it or runs for it is ended, here at once
 * and on other hosts when the bus has told them. An answer that is there stays, which is noted.
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
  const earlier = await cancellationsHere(context, [{ channel, relPath }]).catch(() => []);
  const before = inForce(earlier.filter((one) => only || one.message.only !== true));
  // A second one would do nothing that the first does not.
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
  // It is cancelled by now, whatever this look meets.
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
