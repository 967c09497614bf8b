import type { Message } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { withNaming, type Naming } from './naming.ts';

/** An interim answer, and the commit at which it is looked at. */
interface Interim {
  channel: string;
  relPath: string;
  message: Message;
  tip: string;
}

/** The most messages that are examined for one interim answer, and for one question. */
const MOST_QUESTIONS = 20;
const MOST_REACTIONS = 200;

/**
 * Whether an interim answer is a question back (talk.md): its writer has not answered since, and
 * does not wait for others, to whom it gave a part of the work. Of a question with options nobody has
 * to guess.
 */
export async function isAskedBack(context: Context, interim: Interim): Promise<boolean> {
  // What was printed is a word on the way; a question back is sent.
  const { interim: isInterim, printed } = interim.message;
  if (isInterim !== true || printed === true) return false;
  return withNaming(context, interim.tip, (naming) => isStillAsked(interim, naming));
}

async function isStillAsked(
  { channel, relPath, message }: Interim,
  naming: Naming,
): Promise<boolean> {
  for (const question of message.re.slice(0, MOST_QUESTIONS)) {
    const reactions = (await naming({ channel, relPath: question }, 're_or_cause')).slice(
      -MOST_REACTIONS,
    );
    const own = reactions.filter((one) => one.message.from === message.from);
    const isOver = own.some(
      (one) =>
        one.message.interim !== true && one.message.re.includes(question) && one.relPath > relPath,
    );
    if (isOver) return false;
    if (message.options !== undefined) continue;
    const tasks = own.filter((one) => one.message.re.length === 0);
    for (const task of tasks)
      if ((await naming({ channel, relPath: task.relPath }, 're')).length === 0) return false;
  }
  return message.re.length > 0;
}
