import { placeOf, messageKey, type MessageRef } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import { parseMessage, type Located, type Message } from '../../protocol/message.ts';

/** A file that waits in this machine's outbox. */
interface QueuedFile {
  /** Its path in the transport. */
  path: string;
  content: string;
}

/** Returns every file that waits in this machine's outbox. */
export async function queuedFiles({ outbox }: Pick<Context, 'outbox'>): Promise<QueuedFile[]> {
  return filesIn(await outbox.all());
}

function filesIn(entries: readonly OutboxEntry[]): QueuedFile[] {
  return entries.flatMap(({ commits }) => commits.flatMap(({ files }) => files));
}

/** Returns the messages that wait in this machine's outbox. */
export async function queuedMessages({
  outbox,
}: Pick<Context, 'outbox'>): Promise<(QueuedFile & MessageRef)[]> {
  return messagesIn(await outbox.all());
}

/** Selects the files of the outbox whose path is that of a message. */
export function messagesIn(entries: readonly OutboxEntry[]): (QueuedFile & MessageRef)[] {
  return filesIn(entries).flatMap((file) => {
    const place = placeOf(file.path);
    return place.kind === 'message'
      ? [{ ...file, channel: place.channel, relPath: place.relPath }]
      : [];
  });
}

/** Returns a message that waits in this machine's outbox. */
export async function queuedMessage(
  context: Pick<Context, 'outbox'>,
  ref: MessageRef,
): Promise<Message | undefined> {
  const key = messageKey(ref);
  const queued = (await queuedMessages(context)).find((one) => messageKey(one) === key);
  const parsed = queued && parseMessage(Buffer.from(queued.content));
  return parsed?.ok === true ? parsed.value : undefined;
}

/** A message that takes another one back, and whether it is not on the bus yet. */
export type CancelHere = Located & { queued?: true };

/** Returns the cancellations of a message that wait in this machine's outbox. */
export async function queuedCancels(
  context: Pick<Context, 'outbox'>,
  { channel, relPath }: MessageRef,
): Promise<CancelHere[]> {
  return (await queuedMessages(context)).flatMap((one) => {
    if (one.channel !== channel || !one.content.includes(relPath)) return [];
    const parsed = parseMessage(Buffer.from(one.content));
    if (!parsed.ok || parsed.value.cancels !== relPath) return [];
    return [{ relPath: one.relPath, message: parsed.value, queued: true as const }];
  });
}

/** Returns the decisions that a person has made on this machine and that are not on the bus yet. */
export async function queuedDecisions(
  { decided }: Pick<Context, 'decided'>,
  outbox: readonly OutboxEntry[],
): Promise<(MessageRef & Located)[]> {
  const queued = messagesIn(outbox);
  if (queued.length === 0) return [];
  const isMadeHere = await decided.look();
  return queued.flatMap(({ channel, relPath, path, content }) => {
    if (!isMadeHere({ path, content })) return [];
    const parsed = parseMessage(Buffer.from(content));
    return parsed.ok ? [{ channel, relPath, message: parsed.value }] : [];
  });
}
