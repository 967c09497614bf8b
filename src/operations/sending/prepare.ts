import type { MessageRef } from '../../protocol/message-ref.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import {
  formatMessage,
  parseMessage,
  isTier,
  MAX_MESSAGE_BYTES,
  type Message,
} from '../../protocol/message.ts';
import { isRelPath } from '../../protocol/names.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { parseRecipients, sendMessages } from '../../protocol/reply.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Commit } from '../../protocol/commit.ts';
import type { Address } from '../../protocol/address.ts';
import type { Context } from '../context.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { linkIn } from './handed.ts';
import type { SendInput } from './input.ts';
import { linked } from './link.ts';
import { suffixOf, type Marks } from './marks.ts';
import type { RemoteNews } from './remote-news.ts';

/** A `send` that is ready to be recorded: its content can no longer be refused. */
export interface Prepared {
  /** The id of its channel. */
  channel: string;
  from: string;
  /** The id of the run that sends it. */
  dispatch: string | undefined;
  messages: (MessageRef & { message: Message; commit: Commit })[];
}

/**
 * Creates the messages of a `send`. In a dispatch they are linked to the messages being processed.
 *
 * @throws CrosstalkError `usage` for invalid input
 */
export async function prepareMessages(
  context: Context,
  input: SendInput,
  { at, seed }: Marks,
  news: RemoteNews,
): Promise<Prepared> {
  assertAnswered(input);
  const to = recipients(context, input);
  assertInput(input);
  const from = resolveFrom(context, input.from, input.login);
  const channel = await channelOf(context, input.channel, news);
  const dispatch = await linked(context, channel.id, input);
  const messages = sendMessages(
    {
      ...dispatch,
      to,
      body: input.body,
      channel: channel.id,
      ...(input.tier === undefined ? {} : { tier: input.tier }),
    },
    {
      actor: from,
      at: new Date(at),
      ...(dispatch.host === undefined ? {} : { host: dispatch.host }),
    },
    dispatch.lookup,
  );
  for (const { message } of messages) assertSize(message);
  const origin = dispatch.host ?? context.hostname;
  return {
    channel: channel.id,
    from,
    dispatch: dispatch.id,
    messages: messages.map(({ channel: where, message }, serial) => ({
      channel: where,
      message,
      ...outgoing(message, where, origin, suffixOf(seed, serial)),
    })),
  };
}

function recipients({ dispatch }: Context, input: SendInput): Address[] {
  const { to, problems } = parseRecipients(input.to, linkIn(dispatch, input).id !== undefined);
  if (problems.length === 0) return to;
  throw new CrosstalkError(
    'usage',
    `--to: ${problems.join('; ')}; several are separated by commas`,
  );
}

function assertAnswered({ answers }: SendInput): void {
  if (answers === undefined || isRelPath(answers)) return;
  throw new CrosstalkError(
    'usage',
    `re is ${shown(answers)}, expected the path of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`,
  );
}

function assertInput({ tier, body }: SendInput): void {
  if (tier !== undefined && !isTier(tier)) {
    throw new CrosstalkError(
      'usage',
      `--tier ${shown(tier)} is not a tier name; see the tiers with: crosstalk status`,
    );
  }
  if (body.trim() === '') {
    throw new CrosstalkError(
      'usage',
      'the message is empty; give its text as an argument, on stdin, or with --file <path>',
    );
  }
}

async function channelOf(
  context: Context,
  given: string | undefined,
  news: RemoteNews,
): Promise<Channel> {
  try {
    return await resolveChannel(context, given);
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    await news.ask();
    return resolveChannel(context, given);
  }
}

/** A message that no dispatcher could read must not count as sent. */
function assertSize(message: Message): void {
  const bytes = Buffer.from(formatMessage(message));
  const size = bytes.byteLength;
  if (size <= MAX_MESSAGE_BYTES) {
    const read = parseMessage(bytes);
    if (read.ok) return;
    throw new CrosstalkError(
      'usage',
      `nobody could read this message: ${read.problems.join('; ')}; it names ${String(message.to.length)} addressees: send to fewer at a time`,
    );
  }
  throw new CrosstalkError(
    'usage',
    `the message is ${String(size)} bytes long, more than the limit of 1 MiB; put the bulk in a file of the transport or elsewhere and send where it is`,
  );
}
