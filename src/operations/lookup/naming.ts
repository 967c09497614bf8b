import { CHANNELS, placeOf } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';

/**
 * The messages at a commit that name another in `re`, or also in `cause`, by path.
 *
 * @param inCause also those that name it in `cause` alone
 */
export type Naming = (ref: MessageRef, inCause: boolean) => Promise<Located[]>;

/** Milliseconds that are spent on an index that is behind; without it git looks through the channel. */
const PATIENCE_MS = 500;

/**
 * Answers who names a message, from the index, or where that is not complete yet, from the files.
 *
 * @param tip the commit the messages are read at; one that the newest descends from
 */
export async function withNaming<T>(
  context: Context,
  tip: string,
  use: (naming: Naming) => Promise<T>,
): Promise<T> {
  const { reader, transport } = context;
  const namingOf =
    (candidates: (ref: MessageRef, inCause: boolean) => Promise<string[]>): Naming =>
    async (ref, inCause) => {
      const paths = await candidates(ref, inCause);
      const messages = await reader.messages(tip, ref.channel, paths);
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
