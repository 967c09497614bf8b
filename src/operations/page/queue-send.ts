import { messageFile } from '../../protocol/layout.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';
import type { WebSendRequest, WebSent } from '../../api/api.ts';
import { directPublisher, tipOf, type Context } from '../context.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { publishOp } from '../deliver.ts';
import type { Marks } from '../sending/marks.ts';
import { send, senderIn } from '../sending/send.ts';
import { uploadsOf } from './uploads.ts';

/** Milliseconds for the dispatcher to report its push; the message is safe meanwhile. */
const ANSWER_LIMIT_MS = 120_000;

/**
 * Writes a message and returns as soon as it is safe on this machine's disk. The push follows, by
 * the dispatcher, or by this process when no dispatcher runs. Messages from the page belong to no
 * dispatch, even if its server was started from one.
 *
 * @param options `login`: the sender, if nothing else determines it; `marks`: the same marks make the
 *   same message
 * @param queued receives what is safe, before anybody can push it
 * @returns the message and `pushed`, which resolves when the push has succeeded or failed
 * @throws CrosstalkError as {@link send} does; nothing is written then
 */
export async function queueSend(
  context: Context,
  request: WebSendRequest,
  { login, marks }: { login: string; marks: Marks },
  queued: (refs: readonly MessageRef[]) => void,
): Promise<{ sent: WebSent; pushed: Promise<unknown> }> {
  const attachments = await uploadsOf(context, request);
  const notes: string[] = [];
  let pushed: Promise<unknown> = Promise.resolve();
  const theirs: Context = {
    ...context,
    dispatch: {},
    note: (line) => {
      notes.push(line);
    },
    publish: (entry) => {
      const outcome = publish(context, entry, attachments.length > 0 ? 'with files' : 'plain');
      pushed = outcome.catch(() => undefined);
      return outcome;
    },
  };
  const { re, cancels, ...said } = withoutFiles(request);
  const named = async (relPath: string | undefined): Promise<string | undefined> =>
    relPath && `${(await resolveChannel(theirs, said.channel)).id}/${relPath}`;
  const [reply, cancelled] = [await named(re), await named(cancels)];
  const sent = await send(
    senderIn(theirs, 'recorded'),
    {
      ...said,
      ...(reply !== undefined && { reply }),
      ...(cancelled !== undefined && { cancels: cancelled }),
      ...{ login, isNew: false, wait: false },
    },
    { marks, attachments, onDurable: queued },
  );
  const { channel, from, messages } = sent;
  const isSent = await isOnBus(context, channel, messages[0]?.relPath ?? '');
  const state = isSent ? 'sent' : 'queued';
  return { sent: { id: marks.id, channel, from, messages, state, notes }, pushed };
}

/** What is said; the files go along with their bytes. */
function withoutFiles(request: WebSendRequest): Omit<WebSendRequest, 'files'> {
  const said = { ...request };
  delete said.files;
  return said;
}

/** Whether a message is on the bus, as far as is known here: a request may be a repeated one. */
async function isOnBus(context: Context, channel: string, relPath: string): Promise<boolean> {
  const name = `${await tipOf(context)}:${messageFile(channel, relPath)}`;
  return (await context.transport.objects.read(name)) !== undefined;
}

/** Publishes an outbox entry by the dispatcher, or by this process when none runs. */
export async function publish(
  context: Context,
  id: string,
  entry: 'plain' | 'with files',
): Promise<PublishOutcome> {
  const op = publishOp(entry);
  const asked = await ask(context.paths.socket, { op, ids: [id] }, ANSWER_LIMIT_MS);
  if (asked.kind === 'nobody') return directPublisher(context).publish(id);
  const outcome = asked.kind === 'answered' ? asked.answer.outcomes?.[id] : undefined;
  return outcome ?? { published: false, failure: { kind: 'timed_out', reason: 'no answer yet' } };
}
