import { placeOf } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import { parseMessage, type Located } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';

/** A file that waits in this machine's outbox. */
interface QueuedFile {
  /** Its path in the transport. */
  path: string;
  content: string;
}

/** Every file that waits in this machine's outbox. */
export async function queuedFiles({ outbox }: Pick<Context, 'outbox'>): Promise<QueuedFile[]> {
  return (await outbox.all()).flatMap(({ commits }) => commits.flatMap(({ files }) => files));
}

/** Selects the waiting files whose path is that of a message. */
export async function queuedMessages(
  context: Pick<Context, 'outbox'>,
): Promise<(QueuedFile & MessageRef)[]> {
  return (await queuedFiles(context)).flatMap((file) => {
    const place = placeOf(file.path);
    return place.kind === 'message'
      ? [{ ...file, channel: place.channel, relPath: place.relPath }]
      : [];
  });
}

/** The decisions that a person has made on this machine and that are not on the bus yet. */
export async function queuedDecisions({
  outbox,
  decided,
}: Pick<Context, 'outbox' | 'decided'>): Promise<(MessageRef & Located)[]> {
  const queued = await queuedMessages({ outbox });
  if (queued.length === 0) return [];
  const isMadeHere = await decided.look();
  return queued.flatMap(({ channel, relPath, path, content }) => {
    if (!isMadeHere({ path, content })) return [];
    const parsed = parseMessage(Buffer.from(content));
    return parsed.ok ? [{ channel, relPath, message: parsed.value }] : [];
  });
}
