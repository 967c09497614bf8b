import { ask } from '../dispatcher/wake.ts';
import type { Outcome } from '../dispatcher/publisher.ts';
import { CrosstalkError } from '../errors.ts';
import { isRelPath } from '../protocol/names.ts';
import { shown } from '../protocol/result.ts';
import type { WebSendRequest, WebSent } from '../protocol/web-api.ts';
import { directPublisher, type Context } from './context.ts';
import { resolveChannel } from './resolve.ts';
import { send } from './send.ts';

/** What the dispatcher gets to say whether it has pushed; the message is safe meanwhile. */
const ANSWER_LIMIT_MS = 120_000;

/**
 * Writes a message and returns as soon as it is safe on this machine's disk. It is pushed meanwhile, by
 * the dispatcher, or by this process when none runs.
 *
 * @param login the sender, where nothing else says who that is
 * @param settled told when the push has ended, one way or the other
 * @throws CrosstalkError as {@link send} does; nothing is written then
 */
export async function queueSend(
  context: Context,
  request: WebSendRequest,
  login: string,
  settled: (outcome: Outcome | undefined) => void = () => undefined,
): Promise<WebSent> {
  const notes: string[] = [];
  const id = context.newId();
  const theirs: Context = {
    ...context,
    env: await answering(context, request),
    note: (line) => {
      notes.push(line);
    },
    publish: async (entry) => {
      const outcome = await publish(context, entry);
      settled(outcome);
      return outcome ?? { published: false, failure: { kind: 'other', reason: 'no answer' } };
    },
  };
  const { to, body, channel, from, tier } = request;
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
  });
  return {
    id,
    channel: sent.channel,
    from: sent.from,
    messages: sent.messages,
    state: 'queued',
    notes,
  };
}

/** The environment that makes it an answer, as one that is written while another is being processed. */
async function answering(
  context: Context,
  { re, channel }: WebSendRequest,
): Promise<NodeJS.ProcessEnv> {
  const env = Object.fromEntries(
    Object.entries(context.env).filter(([name]) => !name.startsWith('CROSSTALK_DISPATCH_')),
  );
  if (re === undefined) return env;
  if (!isRelPath(re))
    throw new CrosstalkError(
      'usage',
      `re is ${shown(re)}, expected the path of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`,
    );
  const { id } = await resolveChannel(context, channel);
  return { ...env, CROSSTALK_DISPATCH_RE: re, CROSSTALK_DISPATCH_CHANNEL: id };
}

async function publish(context: Context, id: string): Promise<Outcome | undefined> {
  const asked = await ask(context.paths.socket, { op: 'publish', ids: [id] }, ANSWER_LIMIT_MS);
  if (asked.kind === 'timeout') return undefined;
  return asked.kind === 'answered'
    ? asked.answer.outcomes?.[id]
    : directPublisher(context).publish(id);
}
