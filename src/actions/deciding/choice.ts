import { CrosstalkError } from '../../errors.ts';
import { replyText } from '../../protocol/talk.ts';
import type { Message } from '../../protocol/message.ts';
import type { Decision } from '../../protocol/text/words.ts';
import type { Context } from '../context.ts';
import type { Sent } from '../sending/input.ts';
import { reply, type ReplyInput, type ReplyOptions } from '../sending/reply.ts';
import { decide, proposalAt } from './decide.ts';

/** A decision, and the note that accompanies it. */
interface Chosen {
  decision: Decision;
  note: string;
}

/**
 * Returns the decision that a reply to a question for permission chooses, by the number or the text of an
 * option as that question shows them.
 *
 * @returns undefined for any other message, and for any other text
 * @throws CrosstalkError `usage` for an option that does not exist
 */
export function chosenDecision(
  { proposal, permission, options = [] }: Message,
  said: { option?: string; body: string },
): Chosen | undefined {
  if (proposal !== true || permission === undefined) return undefined;
  const text = replyText(options, said);
  if (!text.ok) throw new CrosstalkError('usage', text.problems.join('; '));
  const { chosen } = text.value;
  const word = chosen === undefined ? said.body.trim() : options[chosen - 1];
  const note = said.option === undefined ? '' : said.body;
  if (word === 'once') return { decision: 'approve', note };
  return word === 'deny' ? { decision: 'deny', note } : undefined;
}

/**
 * Replies to a message that was shown, or decides on it when it asks for permission and the reply chooses
 * one of its options.
 *
 * @throws CrosstalkError as {@link reply} and {@link decide} do; `refused` when the question asks for
 *   something else by now
 */
export async function answerShown(
  context: Context,
  shown: Message,
  input: ReplyInput,
  options: ReplyOptions = {},
): Promise<Sent> {
  const chosen = chosenDecision(shown, input);
  if (chosen === undefined) return reply(context, input, options);
  const { message, login, from } = input;
  const who = { message, login, ...(from !== undefined && { from }) };
  const { digest, permission } = await proposalAt(context, who);
  if (JSON.stringify(permission) !== JSON.stringify(shown.permission))
    throw new CrosstalkError(
      'refused',
      `${message} asks for something else than was shown; look at it again, nothing was decided`,
    );
  return decide(context, { ...who, ...chosen, digest, wait: true }, options);
}
