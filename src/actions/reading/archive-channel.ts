import { CrosstalkError } from '../../errors.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { channelFile } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { wholeText } from '../whole-text.ts';

/**
 * Takes a channel out of all lists, or puts it back. Its messages stay, and work under way in it goes on.
 *
 * @returns the channel, and whether anything had to be changed
 */
export async function archiveChannel(
  context: Context,
  input: { channel: string; undo: boolean; from?: string; login: string },
): Promise<{ channel: Channel; isChanged: boolean }> {
  await refreshOrNote(context);
  const channel = await resolveChannel(context, input.channel);
  const { id, name } = channel;
  if ((channel.archived === true) !== input.undo) return { channel, isChanged: false };
  const path = channelFile(id);
  const tip = await tipOf(context);
  const entry = (await context.transport.entriesAt(tip, [path])).get(path);
  const text = entry === undefined ? '' : ((await wholeText(context, tip, path)) ?? '');
  const read = parseDocumentText(text);
  if (text !== '' && !read.ok)
    throw new CrosstalkError(
      'invalid',
      `${path} cannot be read: ${read.problems.join('; ')}; correct it first`,
    );
  const { fields, body } = read.ok ? read.value : { fields: { name }, body: '' };
  const others = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== 'archived'));
  const from = resolveFrom(context, input.from, input.login);
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: channel ${name} ${input.undo ? 'is back' : 'archived'}`,
      files: [
        {
          path,
          content: formatDocument(input.undo ? others : { ...others, archived: true }, body),
        },
      ],
      requires: [{ path, oid: entry?.oid ?? null }],
    },
  ]);
  return { channel, isChanged: true };
}
