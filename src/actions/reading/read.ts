import { OddFiles } from '../../bus/odd-files.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { messageFile, type MessageRef } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES, parseMessage, type Message } from '../../protocol/message.ts';
import { shown, unreadable } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { marked } from '../lookup/marked.ts';
import { queuedFiles } from '../lookup/queued.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { cancellationsHere, forceIn, inForce, type Cancellation } from '../lookup/taken-back.ts';
import type { WebForce } from '../../api/api.ts';

/** A message's file. */
export interface FoundFile {
  channel: Channel;
  relPath: string;
  /** Its path in the transport. */
  path: string;
  /** Whether it waits in this machine's outbox and is not on the bus yet. */
  queued: boolean;
  bytes: Buffer;
}

/** One complete message. */
export interface ReadMessage extends Omit<FoundFile, 'bytes'> {
  message: Message;
  /** The cancellation by which it was taken back; only where somebody is shown the message. */
  cancelled?: Cancellation;
  /** Effect of a message that cancels another one; only where somebody sees it. */
  force?: WebForce;
  /** As in `Located`. */
  verified?: boolean;
}

/**
 * Reads one message.
 *
 * @throws CrosstalkError as {@link findFile} does, and `invalid` for a malformed one
 */
export async function readMessage(context: Context, given: string): Promise<ReadMessage> {
  return parsedFile(context, await findFile(context, given));
}

/** Reads one message for somebody who is shown it: whether its writer has signed it belongs to it. */
export async function shownMessage(context: Context, given: string): Promise<ReadMessage> {
  const found = await findFile(context, given);
  const read = await parsedFile(context, found);
  const text = read.queued ? found.bytes.toString('utf8') : undefined;
  const [shown = read] = await marked(context, await tipOf(context), [read], () => text);
  return withCancels(context, shown);
}

/** Adds whether a message was cancelled, and its force if it cancels one. */
async function withCancels(context: Context, shown: ReadMessage): Promise<ReadMessage> {
  const { message, relPath } = shown;
  const channel = shown.channel.id;
  const targets = [relPath, ...(message.cancels === undefined ? [] : [message.cancels])];
  const found = await cancellationsHere(
    context,
    targets.map((one) => ({ channel, relPath: one })),
  );
  const cancelled = inForce(found.filter((one) => one.message.cancels === relPath));
  const force = message.cancels === undefined ? undefined : (forceIn(found, relPath) ?? 'none');
  return { ...shown, ...(cancelled && { cancelled }), ...(force && { force }) };
}

async function parsedFile(context: Context, { bytes, ...file }: FoundFile): Promise<ReadMessage> {
  const odd = new OddFiles(context.transport);
  const isLink = !file.queued && (await odd.among(await tipOf(context), [file.path])).size > 0;
  const message = isLink ? unreadable('a symlink') : parseMessage(bytes);
  if (message.ok) return { ...file, message: message.value };
  throw new CrosstalkError(
    'invalid',
    `${shown(file.path)} is malformed: ${message.problems.join('; ')}; see it as it is with: crosstalk read --raw ${file.relPath}`,
  );
}

/**
 * Finds a message's file. Messages never change, so the remote is asked only for a message that is
 * not known locally.
 *
 * @throws CrosstalkError `not_found`, `ambiguous` or `usage` for its name, `invalid` when it is too
 *   large
 */
export async function findFile(context: Context, given: string): Promise<FoundFile> {
  const { channel: id, relPath } = await findMessage(context, given);
  const path = messageFile(id, relPath);
  const tip = await tipOf(context);
  const object = await context.transport.objects.read(`${tip}:${path}`);
  const bytes = object === undefined ? await inOutbox(context, path) : object.content;
  if (bytes === undefined) {
    throw object === undefined
      ? new CrosstalkError('not_found', `${shown(path)} is not here any more; try again`)
      : new CrosstalkError(
          'invalid',
          `${shown(path)} has ${String(object.size)} bytes, and a message at most ${String(MAX_MESSAGE_BYTES)}; see it with: git -C ${context.transport.dir} show ${object.oid}`,
        );
  }
  const channel = await context.reader.channel(tip, id);
  return { channel, relPath, path, queued: object === undefined, bytes };
}

/** Finds a message's place, asking the remote for one that is not known locally. */
export async function findMessage(context: Context, given: string): Promise<MessageRef> {
  try {
    return await resolveMessage(context, given);
  } catch (error) {
    if (!(error instanceof CrosstalkError) || error.code !== 'not_found') throw error;
    await refreshOrNote(context);
    return resolveMessage(context, given);
  }
}

async function inOutbox(context: Context, path: string): Promise<Buffer | undefined> {
  const found = (await queuedFiles(context)).find((file) => file.path === path);
  return found && Buffer.from(found.content);
}
