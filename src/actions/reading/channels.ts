import { CrosstalkError } from '../../errors.ts';
import { channelNameProblem, formatChannel, type Channel } from '../../protocol/files/channel.ts';
import { channelFile, isChannelId, writtenAt } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { sameButCase } from '../../protocol/text/nearest.ts';
import { unreadOf } from '../state/inbox.ts';
import { seenHere } from '../lookup/seen.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { withIndex } from '../index/indexing.ts';
import { wholeText } from '../whole-text.ts';
import { defaultChannelOf, resolveChannel, resolveFrom } from '../lookup/resolve.ts';

export interface ChannelInput {
  name: string;
  /** A channel in any form in which a channel may be named. */
  parent?: string;
  description?: string;
  from?: string;
  login: string;
}

/**
 * Creates a channel (protocol.md §9).
 *
 * @throws CrosstalkError `usage` for an invalid name or one that is taken
 */
export async function createChannel(context: Context, input: ChannelInput): Promise<Channel> {
  const problem = channelNameProblem(input.name);
  if (problem !== undefined)
    throw new CrosstalkError('usage', `the channel's ${problem}; choose another`);
  const looksLikeId: boolean = isChannelId(input.name);
  if (looksLikeId) {
    throw new CrosstalkError(
      'usage',
      `the channel's name "${input.name}" has the form of an id; choose another`,
    );
  }
  await refreshOrNote(context);
  const channels = await context.reader.channels(await tipOf(context));
  const taken = channels.find(({ name }) => name === input.name);
  if (taken !== undefined) {
    throw new CrosstalkError(
      'refused',
      taken.archived === true
        ? `the channel "${input.name}" is archived; choose another name, or bring it back with: crosstalk channel archive --undo ${taken.id}`
        : `the channel "${input.name}" exists already, with id ${taken.id}; choose another name or use it`,
    );
  }
  const twin = sameButCase(
    input.name,
    channels.map(({ name }) => name),
  );
  if (twin !== undefined) context.note(twin);
  const parent =
    input.parent === undefined ? undefined : await resolveChannel(context, input.parent);
  const createdBy = resolveFrom(context, input.from, input.login);
  const at = context.now().toISOString();
  const channel: Channel = {
    id: context.uuid(),
    name: input.name,
    createdBy,
    createdAt: at,
    ...(parent === undefined ? {} : { parent: parent.id }),
    body: input.description === undefined ? '' : `${input.description}\n`,
  };
  await deliverOrNote(context, [
    {
      at,
      author: authorOf(createdBy, context.hostname),
      subject: `crosstalk: channel ${channel.name}`,
      files: [{ path: channelFile(channel.id), content: formatChannel(channel) }],
    },
  ]);
  return channel;
}

export interface ListedChannel extends Channel {
  messages: number;
  /** When its newest message was written, as ISO 8601 in UTC; null without messages. */
  last: string | null;
  /** Messages for `name` that it has not seen on this machine. */
  unread: number;
  /** Whether it is the channel of messages that name none in this clone. */
  default: boolean;
  /** Its depth in the tree, which is 0 at the top. */
  depth: number;
}

/**
 * Returns the channels in the order of their names, each followed by those that name it as their parent; a channel
 * whose parent does not exist, or is below it, is at the top.
 *
 * @param name the name whose unread messages are counted
 * @param all also those that are archived
 */
export async function listChannels(
  context: Context,
  name: string,
  { all = false }: { all?: boolean } = {},
): Promise<ListedChannel[]> {
  await refreshOrNote(context);
  const known = await context.reader.channels(await tipOf(context));
  const channels = all ? known : known.filter(isOpen);
  const usual = defaultChannelOf(context, channels);
  const seen = await seenHere(context);
  const listed = await withIndex(context, {}, (index) => {
    const news = unreadOf(index, seen, name);
    const counts = index.counts().channels;
    return channels.map((channel) => {
      const { messages = 0, last = '' } = counts[channel.id] ?? {};
      const unread = news[channel.id]?.length ?? 0;
      return {
        ...channel,
        messages,
        last: writtenAt(last),
        unread,
        default: channel === usual,
      };
    });
  });
  return inTree(listed);
}

/** Returns the same channels in the same order as known locally, without counts. */
export async function channelTree(context: Context): Promise<(Channel & { depth: number })[]> {
  return inTree((await context.reader.channels(await tipOf(context))).filter(isOpen));
}

/** Returns the number of unread messages for a name, by id of the channel, as known locally. */
export async function unreadCounts(
  context: Context,
  name: string,
): Promise<Record<string, number>> {
  const seen = await seenHere(context);
  return withIndex(context, {}, (index) => {
    const unread = Object.entries(unreadOf(index, seen, name));
    return Object.fromEntries(unread.map(([id, refs]) => [id, refs.length]));
  });
}

function isOpen({ archived }: Channel): boolean {
  return archived !== true;
}

function inTree<C extends Channel>(channels: readonly C[]): (C & { depth: number })[] {
  const listed = [...channels].sort((a, b) => a.name.localeCompare(b.name));
  const tops = topsOf(listed);
  const children = new Map<string, C[]>();
  for (const channel of listed) {
    if (tops.has(channel)) continue;
    const parent = channel.parent ?? '';
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [channel]);
    else siblings.push(channel);
  }
  const found: (C & { depth: number })[] = [];
  const ahead = [...tops].reverse().map((channel) => ({ channel, depth: 0 }));
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { channel, depth } = next;
    found.push({ ...channel, depth });
    for (const child of (children.get(channel.id) ?? []).reverse())
      ahead.push({ channel: child, depth: depth + 1 });
  }
  return found;
}

/** Returns the channels without an existing parent, and those whose chain of parents is a cycle. */
function topsOf<C extends Channel>(listed: readonly C[]): Set<C> {
  const byId = new Map(listed.map((channel) => [channel.id, channel]));
  const endless = new Map<C, boolean>();
  for (const channel of listed) {
    const trail = new Set<C>();
    let up: C | undefined = channel;
    while (up !== undefined && !endless.has(up) && !trail.has(up)) {
      trail.add(up);
      up = byId.get(up.parent ?? '');
    }
    const isEndless = up !== undefined && (endless.get(up) ?? true);
    for (const one of trail) endless.set(one, isEndless);
  }
  return new Set(
    listed.filter((one) => endless.get(one) === true || byId.get(one.parent ?? '') === undefined),
  );
}

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
