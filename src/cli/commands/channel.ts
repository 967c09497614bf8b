import { countOf } from '../../protocol/text/amounts.ts';
import { CrosstalkError } from '../../errors.ts';
import { createChannel, listChannels } from '../../operations/reading/channels.ts';
import { archiveChannel } from '../../operations/reading/archive-channel.ts';
import { resolveFrom } from '../../operations/lookup/resolve.ts';
import { channelJson } from '../../operations/shapes/as-json.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { byDispatcher } from '../command/by-dispatcher.ts';
import { flag, given, inTransport, print, text, type Call } from '../command/command.ts';
import { table } from '../view/render.ts';
import { localTime } from '../../present/times.ts';

export function run(call: Call): Promise<number> {
  if (call.name === 'channel archive') return archive(call);
  return call.name === 'channel list' ? list(call) : create(call);
}

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
