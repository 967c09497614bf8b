import { withoutRestored } from '../../bus/epochs.ts';
import type { FileRef } from '../../bus/channel-files.ts';
import {
  CHANNELS,
  placeOf,
  folderUse,
  messageKey,
  type MessageRef,
} from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Context } from '../context.ts';
import { Repeats } from '../../transport/transport.ts';

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
 * Returns the messages added to the bus between two commits, in the order in which they were written, in portions.
 * Messages restored from an archive are not new, and unreadable ones are left out.
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
function messageFiles(files: readonly FileRef[]): MessageFile[] {
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

/** The number of entries that a folder is assumed to contain when it was listed before. */
const REPEATED = 50;

/**
 * Returns the message files of some channels, one day at a time, the newest first. On the way only the names of
 * folders are read, so messages older than the caller needs cost nothing.
 *
 * @param channels their ids
 * @param since the least relPath, such as a time in the form with which relPaths begin
 * @param until every relPath is less than this
 */
export async function* newestFirst(
  context: Context,
  commit: string,
  channels: readonly string[],
  since: string,
  until = '~',
): AsyncGenerator<MessageFile[]> {
  const walks = channels.map((channel) => ({ channel, days: daysOf(context, commit, channel) }));
  const heads = await Promise.all(walks.map(async (walk) => ({ ...walk, day: await next(walk) })));
  for (;;) {
    const day = heads.map((head) => head.day).reduce((a, b) => (b > a ? b : a), '');
    if (day === '' || day < since.slice(0, day.length)) return;
    const due = heads.filter((head) => head.day === day);
    if (day <= until.slice(0, day.length)) {
      const files = await Promise.all(
        due.map(({ channel }) => context.transport.list(commit, [`${CHANNELS}/${channel}/${day}`])),
      );
      yield messageFiles(files.flat())
        .filter(({ relPath }) => relPath >= since && relPath < until)
        .sort(byTime)
        .reverse();
    }
    for (const head of due) head.day = await next(head);
  }
}

async function next({ days }: { days: AsyncGenerator<string> }): Promise<string> {
  const step = await days.next();
  return step.done === true ? '' : step.value;
}

/** Returns the days of a channel's folders as `YYYY/MM/DD`, the newest first. */
async function* daysOf(context: Context, commit: string, channel: string): AsyncGenerator<string> {
  const folder = `${CHANNELS}/${channel}`;
  const repeats = new Repeats();
  const inside = (path: string): AsyncGenerator<string> =>
    foldersOf(context, commit, path, repeats);
  for await (const year of inside(folder)) {
    for await (const month of inside(`${folder}/${year}`)) {
      const path = `${year}/${month}`;
      for await (const day of inside(`${folder}/${path}`)) yield `${path}/${day}`;
    }
  }
}

/** Returns the names of Crosstalk's folders in a folder, the greatest first, with a limit on identical ones. */
async function* foldersOf(
  { transport }: Context,
  commit: string,
  folder: string,
  repeats: Repeats,
): AsyncGenerator<string> {
  const entries = (await transport.list(commit, [folder]))
    .filter(({ type, path }) => type === 'tree' && folderUse(path) === 'enter')
    .sort((a, b) => (a.path < b.path ? 1 : -1));
  for (const { path, oid } of entries) {
    const look = repeats.look(path, [oid]);
    if (look === 'again') repeats.charge(path, REPEATED);
    if (look !== 'enough') yield path.slice(folder.length + 1);
  }
}

/** Returns the messages at some places at a commit, in this order; those that cannot be read are left out. */
export async function messagesAt(
  { reader }: Context,
  tip: string,
  refs: readonly MessageRef[],
): Promise<(MessageRef & Located)[]> {
  const found: (MessageRef & Located)[] = [];
  for (let at = 0; at < refs.length; at += CHUNK) {
    const some = refs.slice(at, at + CHUNK);
    const read = new Map<string, MessageRef & Located>();
    for (const channel of new Set(some.map((ref) => ref.channel))) {
      const paths = some.filter((ref) => ref.channel === channel).map(({ relPath }) => relPath);
      for (const one of await reader.messages(tip, channel, paths))
        read.set(messageKey({ channel, relPath: one.relPath }), { channel, ...one });
    }
    found.push(...some.flatMap((ref) => read.get(messageKey(ref)) ?? []));
  }
  return found;
}

/**
 * The messages of one channel at a commit, from the newest back. Only requested messages are read,
 * so the first ones arrive equally fast from long and short channels.
 */
export class ChannelHistory {
  readonly #context: Context;
  readonly #days: AsyncGenerator<MessageFile[]>;
  #unread: MessageFile[] = [];
  #ended = false;

  /** @param channel its id */
  constructor(context: Context, tip: string, channel: string) {
    this.#context = context;
    this.#days = newestFirst(context, tip, [channel], '');
  }

  /**
   * Returns the next older messages, oldest first; files that cannot be read as messages are left out.
   *
   * @param count about how many messages to return
   * @returns `more`: whether there may be still older ones
   */
  async older(count: number): Promise<{ messages: Arrival[]; more: boolean }> {
    const found: Arrival[] = [];
    while (found.length < count && (await this.#fill(count))) {
      const part = this.#unread.splice(0, Math.min(CHUNK, count - found.length));
      found.push(...(await readFiles(this.#context, part)));
    }
    return { messages: found.reverse(), more: !this.#ended || this.#unread.length > 0 };
  }

  /** Days with few messages are read together. */
  async #fill(count: number): Promise<boolean> {
    while (!this.#ended && this.#unread.length < count) {
      const day = await this.#days.next();
      if (day.done === true) this.#ended = true;
      else this.#unread.push(...day.value);
    }
    return this.#unread.length > 0;
  }
}
