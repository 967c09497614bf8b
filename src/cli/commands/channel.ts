import { countOf } from '../../protocol/text/words.ts';
import { CrosstalkError } from '../../errors.ts';
import { archiveChannel, createChannel, listChannels } from '../../actions/reading/channels.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { channelJson } from '../../actions/shapes/as-json.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { byDispatcher } from '../command/by-dispatcher.ts';
import { flag, given, inTransport, print, text, type Call } from '../command/command.ts';
import { FROM, type CommandSpec } from '../command/spec.ts';
import { table } from '../view/render.ts';
import { localTime } from '../../present/times.ts';

export const commands: readonly CommandSpec[] = [
  {
    // The form before `channel create`.
    name: 'channel',
    hidden: true,
    summary: 'make a channel; prints its id',
    options: [
      ['--name <name>', 'make a channel of this name'],
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel --name release',
    run: create,
  },
  {
    name: 'channel create',
    args: '<name>',
    summary: 'make a channel; prints its id',
    options: [
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel create release --description "Everything about 2.0."',
    run: create,
  },
  {
    name: 'channel list',
    summary: 'the channels: messages, the last one, and what is unread for a name',
    options: [
      ['--for <name>', 'whose unread messages (default: you)'],
      ['--all', 'also those that are archived'],
    ],
    inRun: true,
    example: 'crosstalk channel list',
    paged: true,
    run: list,
  },
  {
    name: 'channel archive',
    args: '<channel>',
    summary: 'take a channel out of the lists; its messages stay, and nothing new is begun in it',
    options: [['--undo', 'put it back'], FROM],
    example: 'crosstalk channel archive release',
    run: archive,
  },
];

function archive(call: Call): Promise<number> {
  const undo = flag(call, 'undo');
  return inTransport(call, async (context) => {
    const { channel, isChanged } = await archiveChannel(context, {
      channel: call.args[0] ?? '',
      undo,
      ...given(call, 'from'),
      login: call.io.login,
    });
    const { id, name } = channel;
    const word = undo ? 'Back in the lists' : 'Archived';
    const how = undo ? '' : `; bring it back with: crosstalk channel archive --undo ${id}`;
    return print(call, { id, name, archived: !undo, changed: isChanged }, () =>
      isChanged ? `${word}: ${escapeInvisible(name)}${how}` : `Nothing changed`,
    );
  });
}

async function create(call: Call): Promise<number> {
  const name = call.args[0] ?? text(call, 'name');
  if (name === undefined) {
    throw new CrosstalkError(
      'usage',
      'a name is missing; make a channel with: crosstalk channel create <name>, list them with: crosstalk channel list',
    );
  }
  const input = { name, ...given(call, 'parent', 'description', 'from'), login: call.io.login };
  const made = await byDispatcher(call, 'channel', input);
  if (made !== undefined)
    return print(call, channelJson(made as Channel), () => (made as Channel).id);
  return inTransport(call, async (context) => {
    const channel = await createChannel(context, input);
    return print(call, channelJson(channel), () => channel.id);
  });
}

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const name = resolveFrom(context, text(call, 'for'), call.io.login);
    const channels = await listChannels(context, name, { all: flag(call, 'all') });
    return print(call, channels.map(channelJson), () =>
      table(
        channels.map((channel) => [
          channel.id,
          `${'  '.repeat(channel.depth)}${channel.name}`,
          countOf(channel.messages, 'message'),
          channel.last === null ? '' : `last ${localTime(new Date(channel.last))}`,
          channel.unread === 0 ? '' : `${String(channel.unread)} unread for ${name}`,
          // Of a single channel there is nothing to choose.
          channel.archived === true
            ? 'archived'
            : channel.default && channels.length > 1
              ? 'the default'
              : '',
        ]),
      ),
    );
  });
}
