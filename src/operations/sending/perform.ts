import type { MessageRef } from '../../protocol/message-ref.ts';
import { formatAddress } from '../../protocol/address.ts';
import type { Context } from '../context.ts';
import { publish, recordEntry } from '../deliver.ts';
import type { SendInput, Sent } from './input.ts';
import type { Marks } from './marks.ts';
import { prepareMessages } from './prepare.ts';
import { RemoteNews } from './remote-news.ts';
import { noteUnserved, withoutHost } from './unserved.ts';

/**
 * Does a `send` in this process, which is a dispatcher or has found none: prepares the messages,
 * records them, and publishes them. Done twice with the same marks it has the same outcome.
 *
 * @param options `unanswered`: why nobody is asked to push it now: a dispatcher that took too long
 *   goes on with it; `onDurable`: called once it is safe on disk
 * @throws CrosstalkError `usage` for bad input; nothing is written then
 */
export async function perform(
  context: Context,
  input: SendInput,
  marks: Marks,
  options: {
    unanswered?: string;
    onDurable?: (messages: readonly MessageRef[]) => void;
  } = {},
): Promise<Sent> {
  const news = new RemoteNews(context);
  const { channel, from, dispatch, messages } = await prepareMessages(context, input, marks, news);
  // Who serves the addressees is only for a warning: it is looked up while the push is under way.
  const tasks = messages.flatMap(({ message: { re, to } }) => (re.length === 0 ? to : []));
  const looking = withoutHost(context, tasks).catch(() => []);
  await recordEntry(
    context,
    marks.id,
    messages.map(({ commit }) => commit),
  );
  if (dispatch !== undefined)
    for (const { relPath } of messages) await context.runs.noteSent(dispatch, relPath);
  options.onDurable?.(messages.map((one) => ({ channel: one.channel, relPath: one.relPath })));
  const delivered = await publish(context, marks.id, {
    wait: input.wait,
    unreachable: options.unanswered ?? news.problem,
  });
  if (!delivered.published) news.isVain();
  // It is sent by now: that there is no telling who serves them is no failure.
  await noteUnserved(context, tasks, await looking, news).catch(() => undefined);
  return {
    channel,
    from,
    messages: messages.map(({ channel: where, relPath, message }) => ({
      relPath,
      ...(where === channel ? {} : { channel: where }),
      to: message.to.map(formatAddress),
      re: message.re,
      cause: message.cause,
    })),
    delivered,
  };
}
