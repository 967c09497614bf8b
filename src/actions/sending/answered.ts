import { EVERYONE } from '../../protocol/address.ts';
import type { Located, Message } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import { type Ending, type Replied, replies, type RepliesInput } from '../reading/replies.ts';
import { interimOf } from '../waiting/standing.ts';
import type { Sent } from './input.ts';
import { reply, type ReplyInput } from './reply.ts';

/** Events while an answer is waited for. */
export interface WaitEvents {
  /** Something holds the answer up, in one line; each line comes once. */
  heldUp?: (line: string) => void;
  /** Called before each wait with the replies known by then. */
  waits?: (question: Replied) => void;
  /**
   * Called for an interim answer, which may be a question back.
   *
   * @param answer replies to it; the actor goes on with the question then
   * @param asker who has asked
   */
  spoke?: (word: Located, answer: (body: string) => Promise<Sent>, asker: string) => void;
  /** Replies to such a word in the place of {@link reply}. */
  answerWith?: (context: Context, word: Message, input: ReplyInput) => Promise<Sent>;
  /**
   * Called when nobody owes an answer any more: whether that is the end, or the asker has just replied to
   * a question back.
   */
  isOver?: (question: Replied) => Promise<boolean>;
}

/**
 * Waits for the answer to a question, and passes on the interim answers.
 *
 * @param asker who has asked, and replies to a question back
 * @param limits `wait` and `timeout` as for {@link replies}; `since`: a commit at which it had few or no replies
 */
export async function answered(
  context: Context,
  { login, from }: { login: string; from: string },
  { timeout, ref, ...rest }: Omit<RepliesInput, 'messages'> & { since: string; ref: MessageRef },
  { heldUp, waits, spoke, answerWith, isOver }: WaitEvents,
): Promise<{ ending: Ending; found: Replied[] }> {
  const deadline = performance.now() + timeout;
  const heard = new Set<string>();
  const lines = new Set<string>();
  const listen = ([question]: readonly Replied[]): void => {
    for (const word of wordsOf(question)) {
      if (heard.has(word.relPath) || heard.size >= MOST_WORDS) continue;
      heard.add(word.relPath);
      const input = { message: `${ref.channel}/${word.relPath}`, login, from };
      const answer = (body: string): Promise<Sent> => {
        const said = { ...input, body, isNew: false, wait: true };
        return answerWith?.(context, word.message, said) ?? reply(context, said);
      };
      spoke?.(word, answer, from);
    }
  };
  for (;;) {
    const ended = await replies(context, {
      messages: [ref],
      timeout: Math.max(0, deadline - performance.now()),
      ...rest,
      heldUp: (line) => {
        if (!lines.has(line)) heldUp?.(line);
        lines.add(line);
      },
      waits: (found) => {
        listen(found);
        if (found[0] !== undefined) waits?.(found[0]);
      },
    });
    listen(ended.found);
    const [question] = ended.found;
    if (ended.ending !== 'over' || question === undefined) return ended;
    if ((await isOver?.(question)) !== false) return ended;
  }
}

/** The most words on the way to an answer that are shown. */
const MOST_WORDS = 20;

/** Returns the messages of those who were asked: nobody else may ask back. */
function wordsOf(question: Replied | undefined): Located[] {
  if (question === undefined) return [];
  const names = new Set(question.question?.to.map(({ name }) => name));
  return interimOf(question).filter(
    ({ message }) => names.has(message.from) || names.has(EVERYONE),
  );
}
