import { isQuestion } from '../protocol/causality.ts';
import { startedBy } from '../protocol/automation/firing.ts';
import { subscriptionOf } from '../protocol/automation/follow-up.ts';
import type { Message } from '../protocol/message.ts';

/** The word in `tags` of a message that may ask its addressees something. */
export const MAY_ASK = 'q';
/** The word of a message that cancels another one. */
export const TAKES_BACK = 'x';
/** The word of a message that asks for a decision. */
export const PROPOSES = 'p';
/** The word of a message that a schedule or a subscription has sent. */
export const AUTOMATIC = 'a';

/**
 * Returns the words by which messages are filtered in a search.
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
  if (isAutomatic(message)) tags.push(AUTOMATIC);
  return tags.join(' ');
}

/** Whether a message states that a schedule or a subscription has sent it, so that nobody has written it. */
export function isAutomatic(message: Message): boolean {
  return startedBy(message) !== undefined || subscriptionOf(message) !== undefined;
}

/**
 * Whether a message asks its addressees something, or does so unless an answer follows it. The output that a
 * run printed on the way asks nothing.
 */
function mayAsk(message: Message): boolean {
  const isWord = message.interim === true && message.printed !== true;
  return message.type === 'text' && (isQuestion(message) || isWord || message.proposal === true);
}
