import { CrosstalkError } from '../../errors.ts';
import { formatAddress, type Address } from '../../protocol/address.ts';
import { isQuestion } from '../../protocol/causality.ts';
import { isFinalAnswer, replyText } from '../../protocol/talk.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { isOrigin } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { readMessage } from '../reading/read.ts';
import type { SendInput } from './input.ts';

/** The message that another one replies to, and its channel. */
export interface Target extends Located {
  channel: string;
}

/**
 * Reads the message that a message replies to; it may wait in the outbox here.
 *
 * @returns undefined if it is not a reply
 * @throws CrosstalkError `usage` when it is one's own, `not_found` or `invalid` when it cannot be read
 */
export async function targetOf(
  context: Context,
  { reply }: SendInput,
  from: string,
): Promise<Target | undefined> {
  if (reply === undefined) return undefined;
  const problem = `${shown(reply)} is no message to reply to: expected <channel id>/<relPath>`;
  if (!isOrigin(reply)) throw new CrosstalkError('usage', problem);
  const { channel, relPath, message } = await readMessage(context, reply);
  if (message.from === from)
    throw new CrosstalkError(
      'usage',
      `${relPath} is from ${from}, the sender of this reply, which would wake nobody; write to those it is to with: crosstalk send --to <name>, or reply to what they answered`,
    );
  return { channel: channel.id, relPath, message };
}

/** Returns the recipient of a reply: the writer of the message that it answers, on its host (talk.md). */
export function writerOf({ message }: Target): Address {
  const { from: name, host } = message;
  return host === undefined ? { name } : { name, host };
}

/**
 * Returns the text of a message: the given one, or the chosen option of the message that it answers,
 * which is noted.
 *
 * @throws CrosstalkError `usage` for an option that does not exist
 */
export function textOf(
  { note }: Pick<Context, 'note'>,
  { option, body, decision }: SendInput,
  target: Target | undefined,
): string {
  // The note of a decision may be any text, a number too.
  if (decision !== undefined) return body;
  const options = target?.message.options ?? [];
  const text = replyText(options, { body, ...(option === undefined ? {} : { option }) });
  if (!text.ok) throw new CrosstalkError('usage', text.problems.join('; '));
  const { chosen } = text.value;
  if (chosen !== undefined)
    note(`option ${String(chosen)}: ${escapeInvisible(options[chosen - 1] ?? '')}`);
  return text.value.body;
}

/**
 * Returns the message with its fields as a question: the options that it offers, the form of its answer, whether
 * one host takes it, and whether it asks again in an old thread, as a reply to a final answer does that is written outside a
 * run (talk.md).
 */
export function asQuestion(
  message: Message,
  { options = [], schema, one, decision, decides }: SendInput,
  target: Target | undefined,
): Message {
  const isAnew =
    target !== undefined && isFinalAnswer(target.message) && message.re.includes(target.relPath);
  const asking = { ...message, ...(isAnew && { asks: true as const }) };
  return {
    ...asking,
    ...(decision !== undefined && { decision }),
    ...(decides !== undefined && { decides }),
    ...(options.length > 0 && { options: [...options] }),
    ...(schema !== undefined && isQuestion(asking) && { schema }),
    ...(one === true && isQuestion(asking) && { one: true as const }),
  };
}

/** Refuses `--one` where the address names the host. */
export function assertAnyHost(to: readonly Address[]): void {
  const at = to.find(({ host }) => host !== undefined);
  if (at === undefined) return;
  throw new CrosstalkError(
    'usage',
    `--one to ${formatAddress(at)}: that is one host already; leave --one out, or write to ${at.name}, of which any host may take it`,
  );
}
