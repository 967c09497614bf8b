import { ask } from '../../dispatcher/socket/wake.ts';
import type { Outcome } from '../../bus/publisher.ts';
import { CrosstalkError } from '../../errors.ts';
import { isRelPath } from '../../protocol/names.ts';
import { shown } from '../../protocol/text/result.ts';
import type { WebRef, WebSendRequest, WebSent } from '../../api/api.ts';
import { directPublisher, type Context } from '../context.ts';
import { messagesIn } from './own-state.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { send } from '../sending/perform.ts';

/** What the dispatcher gets to say whether it has pushed; the message is safe meanwhile. */
const ANSWER_LIMIT_MS = 120_000;

/**
 * Writes a message and returns as soon as it is safe on this machine's disk. It is pushed meanwhile, by
 * the dispatcher, or by this process when none runs.
 *
 * @param login the sender, where nothing else says who that is
 * @param queued told what is safe, before anybody can push it
 * @returns and `pushed`, which resolves when the push has ended, one way or the other
 * @throws CrosstalkError as {@link send} does; nothing is written then
 */
export async function queueSend(
  context: Context,
  request: WebSendRequest,
  login: string,
  queued: (refs: readonly WebRef[]) => void,
): Promise<{ sent: WebSent; pushed: Promise<unknown> }> {
  const notes: string[] = [];
  let pushed: Promise<unknown> = Promise.resolve();
  const id = context.newId();
  const theirs: Context = {
    ...context,
    dispatch: {},
    note: (line) => {
      notes.push(line);
    },
    publish: (entry) => {
      const outcome = context.outbox.get(entry).then((written) => {
        queued(messagesIn(written?.commits ?? []));
        return publish(context, entry);
      });
      pushed = outcome.catch(() => undefined);
      return outcome;
    },
  };
  const { to, body, channel, from, tier } = request;
  const link = await answering(context, request);
  const sent = await send(theirs, {
    to,
    body,
    login,
    id,
    isNew: false,
    wait: false,
    ...(channel !== undefined && { channel }),
    ...(from !== undefined && { from }),
    ...(tier !== undefined && { tier }),
    ...(link !== undefined && { link, channel: link.channel }),
  });
  const { from: writer, messages } = sent;
  return {
    sent: { id, channel: sent.channel, from: writer, messages, state: 'queued', notes },
    pushed,
  };
}

/** What makes it an answer, as one that is written while another is being processed. */
async function answering(
  context: Context,
  { re, channel }: WebSendRequest,
): Promise<{ triggers: string[]; channel: string } | undefined> {
  if (re === undefined) return undefined;
  if (!isRelPath(re))
    throw new CrosstalkError(
      'usage',
      `re is ${shown(re)}, expected the path of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`,
    );
  const { id } = await resolveChannel(context, channel);
  return { triggers: [re], channel: id };
}

async function publish(context: Context, id: string): Promise<Outcome> {
  const asked = await ask(context.paths.socket, { op: 'publish', ids: [id] }, ANSWER_LIMIT_MS);
  if (asked.kind === 'nobody') return directPublisher(context).publish(id);
  const outcome = asked.kind === 'answered' ? asked.answer.outcomes?.[id] : undefined;
  return outcome ?? { published: false, failure: { kind: 'timed_out', reason: 'no answer yet' } };
}
