import { withoutRestored } from '../../bus/epochs.ts';
import type { FileRef } from '../../bus/channel-files.ts';
import { CHANNELS, placeOf } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';

/** A message with the id of its channel. */
export interface Arrival extends Located {
  channel: string;
  /** Of git, if it was read by that. */
  oid?: string;
}

/** The file of a message that was not read yet. */
export interface MessageFile extends FileRef {
  channel: string;
  relPath: string;
}

/** The number of files read at a time: enough to keep git busy, and few enough for memory. */
export const CHUNK = 100;

/**
 * The messages added to the bus between two commits, in the order in which they were written, in
 * portions. Messages restored from an archive are not new, and unreadable ones are left out.
 *
 * @param channel id of the only channel to examine
 */
export async function* arrivals(
  context: Context,
  from: string,
  to: string,
  channel?: string,
): AsyncGenerator<Arrival[]> {
  const { transport } = context;
  const folder = channel === undefined ? CHANNELS : `${CHANNELS}/${channel}`;
  const added: MessageFile[] = [];
  for await (const changes of transport.changes(from, to, [folder]))
    for (const file of messageFiles(changes.filter(({ status }) => status === 'A')))
      added.push(file);
  const fresh = await withoutRestored(transport, from, to, added);
  fresh.sort(byTime);
  for (let at = 0; at < fresh.length; at += CHUNK)
    yield await readFiles(context, fresh.slice(at, at + CHUNK));
}

/** Selects the files whose path is that of a message. */
export function messageFiles(files: readonly FileRef[]): MessageFile[] {
  return files.flatMap((file) => {
    const place = placeOf(file.path);
    return place.kind === 'message'
      ? [{ ...file, channel: place.channel, relPath: place.relPath }]
      : [];
  });
}

/** Reads messages; those that cannot be read are left out. */
export async function readFiles(
  { reader, transport }: Context,
  files: readonly MessageFile[],
): Promise<Arrival[]> {
  await transport.prefetch(files.map(({ oid }) => oid));
  const read = await Promise.all(files.map((file) => reader.parse(file)));
  return files.flatMap(({ channel, relPath, oid }, index) => {
    const message = read[index];
    return message?.ok === true ? [{ channel, relPath, oid, message: message.value }] : [];
  });
}

/** Orders messages of all channels by the time of writing, with which their paths begin. */
export function byTime(
  a: Pick<MessageFile, 'channel' | 'relPath'>,
  b: Pick<MessageFile, 'channel' | 'relPath'>,
): number {
  const [one, other] = [`${a.relPath} ${a.channel}`, `${b.relPath} ${b.channel}`];
  return one < other ? -1 : one > other ? 1 : 0;
}
