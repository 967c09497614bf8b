import { placeOf } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
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
