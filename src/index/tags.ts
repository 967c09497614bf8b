import { isQuestion } from '../protocol/causality.ts';
import type { Message } from '../protocol/message.ts';

/** The word in `tags` of a message that may ask its addressees something. */
export const MAY_ASK = 'q';
/** The word of a message that takes another one back. */
export const TAKES_BACK = 'x';
/** The word of a message that asks for a decision. */
export const PROPOSES = 'p';

/**
 * The words by which messages are filtered in a search.
 *
 * @param channel its number
 * @param people the numbers of the sender and the addressees
 */
export function tagsOf(
  channel: number,
  [sender = 0, ...addressees]: readonly number[],
  message: Message,
): string {
  const tags = [`c${String(channel)}`, `s${String(sender)}`];
  for (const addressee of addressees) tags.push(`t${String(addressee)}`);
  if (mayAsk(message)) tags.push(MAY_ASK);
  if (message.cancels !== undefined) tags.push(TAKES_BACK);
  if (message.proposal === true) tags.push(PROPOSES);
  return tags.join(' ');
}

/**
 * Whether a message asks its addressees something, or does so unless an answer follows it. What a run
 * printed on the way asks nothing.
 */
function mayAsk(message: Message): boolean {
  const isWord = message.interim === true && message.printed !== true;
  return message.type === 'text' && (isQuestion(message) || isWord || message.proposal === true);
}
