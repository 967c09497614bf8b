import { CHANNELS, placeOf } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';

/**
 * The messages at a commit that name another one in `re`, or also in `cause`, in the order of their
 * paths.
 *
 * @param inCause whether messages that name it in `cause` alone are included
 */
export type Naming = (ref: MessageRef, inCause: boolean) => Promise<Located[]>;

/** Milliseconds to spend on an index that is behind; after that git searches the channel. */
const PATIENCE_MS = 500;

/**
 * Finds the messages that name a message, from the index, or from the files if the index is not
 * complete yet.
 *
 * @param tip the commit at which messages are read; the newest commit descends from it
 */
export async function withNaming<T>(
  context: Context,
  tip: string,
  use: (naming: Naming) => Promise<T>,
): Promise<T> {
  const { archive, transport } = context;
  const namingOf =
    (candidates: (ref: MessageRef, inCause: boolean) => Promise<string[]>): Naming =>
    async (ref, inCause) => {
      const paths = await candidates(ref, inCause);
      const messages = await archive.messages(tip, ref.channel, paths);
      return messages.filter(({ message: { re, cause } }) =>
        (inCause ? [...re, ...cause] : re).includes(ref.relPath),
      );
    };
  return withIndex(context, { patience: PATIENCE_MS }, (index, complete) =>
    use(
      namingOf(async ({ channel, relPath }, inCause) => {
        if (complete) return index.naming(channel, relPath, inCause);
        const files = await transport.filesContaining(tip, `${CHANNELS}/${channel}`, relPath);
        return files.flatMap((path) => {
          const place = placeOf(path);
          return place.kind === 'message' ? [place.relPath] : [];
        });
      }),
    ),
  );
}
