import { randomUUID } from 'node:crypto';
import { CrosstalkError } from '../errors.ts';
import { channelNameProblem, formatChannel, type Channel } from '../protocol/channel.ts';
import { channelFile } from '../protocol/layout.ts';
import { authorOf } from '../protocol/outgoing.ts';
import { isChannelId } from '../protocol/names.ts';
import { takeCensus } from './census.ts';
import { refreshOrNote, tipOf, type Context } from './context.ts';
import { deliverOrNote } from './deliver.ts';
import { resolveChannel, resolveFrom } from './resolve.ts';

export interface ChannelInput {
  name: string;
  /** A channel in any of the forms a channel may be given in. */
  parent?: string;
  description?: string;
  from?: string;
  login: string;
}

/**
 * Makes a channel (protocol.md §9).
 *
 * @throws CrosstalkError `usage` for a bad name or one that is taken
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
  const taken = (await context.archive.channels(await tipOf(context))).find(
    ({ name }) => name === input.name,
  );
  if (taken !== undefined) {
    throw new CrosstalkError(
      'refused',
      `the channel "${input.name}" exists already, with id ${taken.id}; choose another name or use it`,
    );
  }
  const parent =
    input.parent === undefined ? undefined : await resolveChannel(context, input.parent);
  const createdBy = resolveFrom(context, input.from, input.login);
  const at = context.now().toISOString();
  const channel: Channel = {
    id: randomUUID(),
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
}

export async function listChannels(context: Context): Promise<ListedChannel[]> {
  await refreshOrNote(context);
  const census = await takeCensus(context);
  const channels = await context.archive.channels(census.tip);
  return channels
    .map((channel) => ({ ...channel, messages: census.channels[channel.id]?.messages ?? 0 }))
    .sort((a, b) => a.name.localeCompare(b.name));
}
