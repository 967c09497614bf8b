import type { WebState } from '../../api/api.ts';
import { isQuestion } from '../../protocol/causality.ts';
import type { Located } from '../../protocol/message.ts';
import { isAnswer } from '../../protocol/owed.ts';
import type { Context } from '../context.ts';
import { withNaming } from '../lookup/naming.ts';
import { hearing, standings } from '../tracing/thread.ts';

/** The most questions whose states are looked up at once, the newest first. */
const MOST = 50;

/**
 * Returns the states of the questions among some messages of a channel that have no answer among them: whom each waits
 * for, and why, as its thread tells it.
 *
 * @param tip the commit at which they were read
 */
export async function openStates(
  context: Context,
  tip: string,
  channel: string,
  messages: readonly Located[],
): Promise<Map<string, WebState[]>> {
  const isAnswered = ({ relPath, message: { to } }: Located): boolean =>
    to.every(({ name }) =>
      messages.some(
        ({ message }) => message.from === name && message.re.includes(relPath) && isAnswer(message),
      ),
    );
  const open = messages
    .filter((one) => isQuestion(one.message) && isAnswer(one.message) && !isAnswered(one))
    .slice(-MOST);
  if (open.length === 0) return new Map();
  const found = await withNaming(context, tip, async (naming) => {
    const known = new Map(open.map((one) => [one.relPath, one]));
    const add = (more: readonly Located[]): void => {
      for (const one of more) known.set(one.relPath, one);
    };
    const asked = open.flatMap(({ message }) => message.re);
    add(await context.reader.messages(tip, channel, asked));
    for (const { relPath } of open) add(await naming({ channel, relPath }, 're_or_cause'));
    // The decisions on plans for them.
    for (const { relPath, message } of [...known.values()])
      if (message.proposal === true) add(await naming({ channel, relPath }, 're'));
    const wanted = new Set(open.map(({ relPath }) => relPath));
    return standings(context, channel, [...known.values()], wanted, hearing(context, tip));
  });
  return new Map(found.map(({ relPath, states }) => [relPath, states]));
}
