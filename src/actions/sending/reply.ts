import { CrosstalkError } from '../../errors.ts';
import { cancelOf } from '../../protocol/cancel.ts';
import { isQuestion } from '../../protocol/causality.ts';
import { isSentInterim } from '../../protocol/interim.ts';
import type { Located, Message } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { tipOf, type Context } from '../context.ts';
import { noteSeen } from '../lookup/seen.ts';
import { withNaming } from '../lookup/naming.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { cancellationsHere, inForce } from '../lookup/taken-back.ts';
import { readMessage } from '../reading/read.ts';
import { queuedIn } from '../tracing/gather.ts';
import type { SendInput, Sent } from './input.ts';
import { send, senderIn, type SendOptions } from './send.ts';

/** The input of a reply, from any interface. */
export interface ReplyInput extends Omit<SendInput, 'to' | 'channel' | 'reply'> {
  /** The message that it answers, in any form of its name. */
  message: string;
}

export interface ReplyOptions extends SendOptions {
  /**
   * Decides whether a second answer to one question is intended; without it, or when it returns false,
   * the answer is refused.
   *
   * @param earlier relPath of the first
   */
  isMeantAgain?: (earlier: string) => boolean | Promise<boolean>;
}

/**
 * Replies to a message: to its writer at its host, in its channel, with `re` it (talk.md). The rule and
 * the walk of protocol.md §4 determine everything else.
 *
 * @throws CrosstalkError as {@link send} does, for the message's name, and {@link AnsweredBefore};
 *   nothing is written then
 */
export async function reply(
  context: Context,
  { message: given, ...input }: ReplyInput,
  { isMeantAgain, ...options }: ReplyOptions = {},
): Promise<Sent> {
  // Resolved here, because a dispatcher must not be kept busy by building an index.
  const { channel, relPath, message } = await readMessage(context, given);
  const ref = { channel: channel.id, relPath };
  const earlier = await answeredBefore(context, ref, message, input);
  if (earlier !== undefined && (await isMeantAgain?.(earlier)) !== true)
    throw new AnsweredBefore(relPath, earlier);
  const said = { ...input, to: '', reply: `${channel.id}/${relPath}` };
  const sent = await send(senderIn(context), said, options);
  const cancelled = await takenBackIn(context, ref);
  if (cancelled !== undefined)
    context.note(
      `${relPath} was taken back, in ${cancelled}, and nobody waits for an answer to it`,
    );
  await noteSeen(context, sent.from, [{ ...ref, message }]);
  return sent;
}

/** The refusal of a second answer to one question, which would wake the asker again. */
export class AnsweredBefore extends CrosstalkError {
  constructor(relPath: string, earlier: string) {
    super(
      'refused',
      `you have answered ${relPath} already, in ${earlier}; to answer once more, add --again`,
    );
  }
}

/**
 * Returns the message that cancelled a message, as far as it is known here; not for a run, which does not
 * check this.
 */
async function takenBackIn(context: Context, ref: MessageRef): Promise<string | undefined> {
  if (isOfRun(context)) return undefined;
  return cancellationsHere(context, [ref]).then(
    (found) => inForce(found)?.relPath,
    () => undefined,
  );
}

function isOfRun({ agentMode, dispatch }: Context): boolean {
  return agentMode !== undefined || dispatch.id !== undefined;
}

/**
 * Returns the earlier answer of a writer to a question, as far as it is known here; not for a run, which
 * does not check this.
 */
async function answeredBefore(
  context: Context,
  { channel, relPath }: MessageRef,
  question: Message,
  said: Pick<SendInput, 'from' | 'login'>,
): Promise<string | undefined> {
  if (isOfRun(context)) return undefined;
  if (!isQuestion(question) && !isSentInterim(question)) return undefined;
  const from = resolveFrom(context, said.from, said.login);
  const isTheirs = ({ message: { from: who, re, ...rest } }: Located): boolean =>
    who === from && re.includes(relPath) && isAnswer(rest);
  const queued = await queuedIn(context, channel);
  return withNaming(context, await tipOf(context), async (find) => {
    const answers = [...(await find({ channel, relPath }, 're')), ...queued].filter(isTheirs);
    for (const answer of answers) {
      const about = await find({ channel, relPath: answer.relPath }, 're');
      // A cancelled answer has answered nothing.
      if (cancelOf(answer, [...about, ...queued], { isNobodys: false }) === undefined)
        return answer.relPath;
    }
    return undefined;
  });
}
