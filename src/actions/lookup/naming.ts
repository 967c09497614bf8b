import { CHANNELS, placeOf, type MessageRef } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { CrosstalkError } from '../../errors.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';

/** The links that count. */
type NamedIn = 're' | 're_or_cause';

/**
 * Returns the messages at a commit that name another one in `re`, or also in `cause`, in the order of their paths.
 *
 * @param inCause whether messages that name it in `cause` alone are included
 */
export type Naming = (ref: MessageRef, where: NamedIn) => Promise<Located[]>;

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

/**
 * Returns the file of a name among those of `local/schedules/` or `local/subscriptions/`.
 *
 * @throws CrosstalkError `not_found`, with the nearest name, or how to make one
 */
export function namedFile<File extends { name: string }>(
  files: readonly File[],
  kind: 'schedule' | 'subscription',
  name: string,
): File {
  const found = files.find((file) => file.name === name);
  if (found !== undefined) return found;
  const names = files.map((file) => file.name);
  const near = didYouMean(name, names);
  const known = near === '' ? `; see: crosstalk ${kind} list` : near;
  const next = names.length === 0 ? `; make one with: crosstalk ${kind} add ${shown(name)}` : known;
  throw new CrosstalkError('not_found', `no ${kind} ${shown(name)}${next}`);
}
