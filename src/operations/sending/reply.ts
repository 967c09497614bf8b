import type { Context } from '../context.ts';
import { findMessage } from '../reading/read.ts';
import type { SendInput, Sent } from './input.ts';
import { send, senderIn, type SendOptions } from './send.ts';

/** A reply as its sender gives it, by any interface. */
export interface ReplyInput extends Omit<SendInput, 'to' | 'channel' | 'reply'> {
  /** The message that it answers, in any form in which one may be named. */
  message: string;
}

/**
 * Replies to a message: to its writer at its host, in its channel, with `re` it (talk.md). The one
 * rule and the walk of protocol.md §4 do the rest.
 *
 * @throws CrosstalkError as {@link send} does, and for the message's name; nothing is written then
 */
export async function reply(
  context: Context,
  { message, ...input }: ReplyInput,
  options: SendOptions = {},
): Promise<Sent> {
  // Resolved here, because a dispatcher must not be kept busy by building an index.
  const { channel, relPath } = await findMessage(context, message);
  const said = { ...input, to: '', reply: `${channel}/${relPath}` };
  return send(senderIn(context), said, options);
}
