import { CHANNELS, placeOf } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';

/** The links that count. */
export type NamedIn = 're' | 're_or_cause';

/**
 * The messages at a commit that name another in `re`, or also those that name it in `cause` alone.
 */
export type Naming = (ref: MessageRef, where: NamedIn) => Promise<Located[]>;

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
    (candidates: (ref: MessageRef, where: NamedIn) => Promise<string[]>): Naming =>
    async (ref, where) => {
      const paths = await candidates(ref, where);
      const messages = await reader.messages(tip, ref.channel, paths);
      return messages.filter(({ message: { re, cause } }) =>
        (where === 're_or_cause' ? [...re, ...cause] : re).includes(ref.relPath),
      );
    };
  return withIndex(context, { patience: PATIENCE_MS }, (index, complete) =>
    use(
      namingOf(async ({ channel, relPath }, where) => {
        if (complete) return index.naming(channel, relPath, where === 're_or_cause');
        const files = await transport.filesContaining(tip, `${CHANNELS}/${channel}`, relPath);
        return files.flatMap((path) => {
          const place = placeOf(path);
          return place.kind === 'message' ? [place.relPath] : [];
        });
      }),
    ),
  );
}
