import { readHosts } from '../dispatcher/host.ts';
import { CrosstalkError } from '../errors.ts';
import { EVERYONE, formatAddress } from '../protocol/address.ts';
import {
  formatMessage,
  isTier,
  MAX_MESSAGE_BYTES,
  type Located,
  type Message,
} from '../protocol/message.ts';
import { isName, isRelPath } from '../protocol/names.ts';
import { outgoing } from '../protocol/outgoing.ts';
import { parseRecipients, sendMessages } from '../protocol/reply.ts';
import { shown } from '../protocol/result.ts';
import { holderOf } from '../state/lock.ts';
import { tipOf, type Context } from './context.ts';
import { deliver, type Delivered } from './deliver.ts';
import { nonEmpty, resolveChannel, resolveFrom } from './resolve.ts';

export interface SendInput {
  to: string;
  body: string;
  channel?: string;
  from?: string;
  tier?: string;
  /** Start unrelated work: record neither `re` nor `cause`. */
  isNew: boolean;
  wait: boolean;
  login: string;
}

export interface Sent {
  channel: string;
  from: string;
  messages: { relPath: string; to: string[]; re: string[]; cause: string[] }[];
  delivered: Delivered;
}

/**
 * Writes a message and puts it on the bus (protocol.md §4). During a dispatch it is linked to
 * what is being processed.
 *
 * @throws CrosstalkError `usage` for bad input; nothing is written then
 */
export async function send(context: Context, input: SendInput): Promise<Sent> {
  const { to, problems } = parseRecipients(input.to);
  if (problems.length > 0) {
    throw new CrosstalkError(
      'usage',
      `--to: ${problems.join('; ')}; several are separated by commas`,
    );
  }
  if (input.tier !== undefined && !isTier(input.tier)) {
    throw new CrosstalkError(
      'usage',
      `--tier ${shown(input.tier)} is not a tier name; see the tiers with: crosstalk status`,
    );
  }
  if (input.body.trim() === '') {
    throw new CrosstalkError(
      'usage',
      'the message is empty; give its text as an argument, on stdin, or with --file <path>',
    );
  }
  const unreachable = await refreshUnlessServed(context);
  const from = resolveFrom(context, input.from, input.login);
  const channel = await resolveChannel(context, input.channel);
  const dispatch = await dispatchOf(context, channel.id, input.isNew);
  const at = context.now();
  const messages = sendMessages(
    {
      to,
      body: input.body,
      triggers: dispatch.triggers,
      ...(input.tier === undefined ? {} : { tier: input.tier }),
    },
    { actor: from, at, ...(dispatch.host === undefined ? {} : { host: dispatch.host }) },
    await context.archive.chain(await tipOf(context), channel.id, dispatch.triggers),
  );
  for (const message of messages) assertSize(message);
  await noteUnserved(context, messages);
  const written = messages.map((message) => ({
    message,
    ...outgoing(message, channel.id, dispatch.host ?? context.hostname, context.suffix()),
  }));
  const { id } = dispatch;
  const noteSent = async (): Promise<void> => {
    if (id === undefined) return;
    for (const { relPath } of written) await context.runs.noteSent(id, relPath);
  };
  const delivered = await deliver(
    context,
    written.map(({ commit }) => commit),
    input.wait,
    { unreachable, onDurable: noteSent },
  );
  return {
    channel: channel.id,
    from,
    messages: written.map(({ relPath, message }) => ({
      relPath,
      to: message.to.map(formatAddress),
      re: message.re,
      cause: message.cause,
    })),
    delivered,
  };
}

/** A running dispatcher knows the news; without one the remote is asked. Why it was not reached. */
async function refreshUnlessServed({ paths, transport }: Context): Promise<string | undefined> {
  if ((await holderOf(paths.root, 'dispatcher')) !== undefined) return undefined;
  const refreshed = await transport.refresh();
  return refreshed.ok ? undefined : refreshed.failure.reason;
}

/**
 * The dispatch a `send` is made in, from the environment of a dispatched CLI. Links are paths
 * inside one channel, so a message to another channel carries none.
 */
async function dispatchOf(
  context: Context,
  channel: string,
  isNew: boolean,
): Promise<{ id?: string; host?: string; triggers: Located[] }> {
  const { env, archive } = context;
  const id = nonEmpty(env['CROSSTALK_DISPATCH_ID']);
  const alias = nonEmpty(env['CROSSTALK_DISPATCH_HOST']);
  const paths = (env['CROSSTALK_DISPATCH_RE'] ?? '').split(',').filter(isRelPath);
  const linked = !isNew && (env['CROSSTALK_DISPATCH_CHANNEL'] ?? channel) === channel;
  return {
    ...(id === undefined ? {} : { id }),
    ...(alias === undefined || !isName(alias) ? {} : { host: alias }),
    triggers:
      linked && paths.length > 0
        ? await archive.messages(await tipOf(context), channel, paths)
        : [],
  };
}

function assertSize(message: Message): void {
  const size = Buffer.byteLength(formatMessage(message));
  if (size <= MAX_MESSAGE_BYTES) return;
  throw new CrosstalkError(
    'usage',
    `the message is ${String(size)} bytes long, more than the limit of 1 MiB; put the bulk in a file of the transport or elsewhere and send where it is`,
  );
}

/** An addressee no host serves is worth a warning: the mail waits (cli.md). Answers go to people too. */
async function noteUnserved(context: Context, messages: readonly Message[]): Promise<void> {
  const hosts = await readHosts(context.transport, await tipOf(context));
  const served = hosts.flatMap(({ result }) => (result.ok ? [result.value] : []));
  for (const { name, host } of messages
    .filter(({ re }) => re.length === 0)
    .flatMap(({ to }) => to)) {
    if (name === EVERYONE) continue;
    const serving = served.filter(({ actors }) => actors.has(name)).map(({ alias }) => alias);
    if (host === undefined ? serving.length > 0 : serving.includes(host)) continue;
    const where = serving.length > 0 ? ` (${name} is served by ${serving.join(', ')})` : '';
    context.note(
      `no host serves ${formatAddress(host === undefined ? { name } : { name, host })}${where}; the message waits until one does`,
    );
  }
}
