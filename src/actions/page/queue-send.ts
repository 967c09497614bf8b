import { messageFile, type MessageRef } from '../../protocol/layout.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';
import type { WebSendRequest, WebSent, WebFile, WebUpload } from '../../api/api.ts';
import { directPublisher, tipOf, type Context } from '../context.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { noteSeen } from '../lookup/seen.ts';
import { readMessage } from '../reading/read.ts';
import { publishOp } from '../deliver.ts';
import type { SendInput, Sent } from '../sending/input.ts';
import { firstPath, type IdempotencyKey } from '../sending/handed.ts';
import { send, senderIn, type SendOptions } from '../sending/send.ts';
import { steer, type SteerInput } from '../sending/steer.ts';
import { CrosstalkError } from '../../errors.ts';
import { filesProblem } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import { attachmentOf, type Attachment } from '../sending/attached.ts';

/** Milliseconds for the dispatcher to report its push; the message is safe meanwhile. */
const ANSWER_LIMIT_MS = 120_000;

/**
 * Writes a message and returns as soon as it is safe on this machine's disk. The push follows, by the dispatcher, or
 * by this process when no dispatcher runs. Messages from the page belong to no dispatch, even if its server was
 * started from one.
 *
 * @param options `login`: the sender, if nothing else determines it; `marks`: the same marks make the same message
 * @param queued receives the durable entry, before anybody can push it
 * @returns the message and `pushed`, which resolves when the push has succeeded or failed
 * @throws CrosstalkError as {@link send} does; nothing is written then
 */
export async function queueSend(
  context: Context,
  request: WebSendRequest,
  { login, marks }: { login: string; marks: IdempotencyKey },
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
  const { re, cancels, about, ...said } = withoutFiles(request);
  const named = async (relPath: string | undefined): Promise<string | undefined> =>
    relPath && `${(await resolveChannel(theirs, said.channel)).id}/${relPath}`;
  const [reply, cancelled, steered] = [await named(re), await named(cancels), await named(about)];
  const input: SendInput = {
    ...said,
    ...(reply !== undefined && { reply }),
    ...(cancelled !== undefined && { cancels: cancelled }),
    ...{ login, isNew: false, wait: false },
  };
  const options = { marks, attachments, onDurable: queued };
  const sent =
    steered === undefined
      ? await send(senderIn(theirs, 'recorded'), input, options)
      : await sendMore(theirs, { ...input, about: steered }, options);
  const { channel, from, messages } = sent;
  if (reply !== undefined) {
    const { channel: where, ...replied } = await readMessage(theirs, reply);
    await noteSeen(theirs, from, [{ ...replied, channel: where.id }]);
  }
  const isSent = await isOnBus(context, channel, messages[0]?.relPath ?? '');
  const state = isSent ? 'sent' : 'queued';
  return { sent: { id: marks.id, channel, from, messages, state, notes }, pushed };
}

/**
 * Says more about an open question. A repeated request is recognized by the message of the first one: by then the
 * question may have been answered.
 */
async function sendMore(
  context: Context,
  { about, ...input }: SteerInput & { about: string },
  options: SendOptions & { marks: IdempotencyKey },
): Promise<Sent> {
  const channel = about.slice(0, about.indexOf('/'));
  const isKnown =
    (await context.outbox.get(options.marks.id)) !== undefined ||
    (await isOnBus(context, channel, firstPath(options.marks)));
  const hands = 'recorded';
  if (!isKnown) return steer(context, { ...input, about }, { ...options, hands });
  return send(senderIn(context, hands), { ...input, channel, steers: about }, options);
}

/** Returns the text and fields of a request; the files go along with their bytes. */
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

/**
 * Name under which the files of a page are stored until a message names them; they are swept like those of an entry
 * that was never written.
 */
const UPLOADED = 'uploaded';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Keeps a file that a page is going to send.
 *
 * @throws CrosstalkError `usage` for a name or a size that cannot be sent
 */
export async function keepUpload(
  { outbox, transport, now }: Context,
  { name, base64 }: WebUpload,
): Promise<WebFile> {
  if (!BASE64.test(base64)) throw new CrosstalkError('usage', 'base64 is no base64');
  const { file, bytes } = attachmentOf(name, Buffer.from(base64, 'base64'));
  const problem = filesProblem([file], transport.fileLimits);
  if (problem !== undefined) throw new CrosstalkError('usage', `not attached: ${problem}`);
  await outbox.sweepFiles(now());
  await outbox.files.put(UPLOADED, file.sha256, bytes);
  return file;
}

/**
 * Returns the files that a request to send names.
 *
 * @throws CrosstalkError `refused` for one that is not stored any more
 */
async function uploadsOf(
  { outbox, transport }: Context,
  { files = [] }: WebSendRequest,
): Promise<Attachment[]> {
  const found: Attachment[] = [];
  for (const { sha256, name } of files) {
    const bytes = await outbox.files.get(UPLOADED, sha256, transport.fileLimits.file);
    if (bytes === undefined)
      throw new CrosstalkError(
        'refused',
        `${shown(name)} is not kept here any more; attach it again`,
      );
    found.push(attachmentOf(name, bytes));
  }
  return found;
}
