import type { SendInput } from './input.ts';
import { readHosts } from '../../bus/host.ts';
import { CrosstalkError } from '../../errors.ts';
import { EVERYONE, formatAddress, type Address } from '../../protocol/address.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import {
  formatMessage,
  parseMessage,
  isTier,
  MAX_MESSAGE_BYTES,
  type Message,
} from '../../protocol/message.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { parseRecipients, sendMessages } from '../../protocol/reply.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshed, tipOf, type Context } from '../context.ts';
import { deliver, type Delivered } from '../deliver.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { linkOf } from './link.ts';

export interface Sent {
  channel: string;
  from: string;
  /** `channel` where it is another: an answer goes where its addressee asked. */
  messages: { relPath: string; channel?: string; to: string[]; re: string[]; cause: string[] }[];
  delivered: Delivered;
}

/**
 * Writes a message and puts it on the bus (protocol.md §4). During a dispatch it is linked to
 * what is being processed.
 *
 * @throws CrosstalkError `usage` for bad input; nothing is written then
 */
export async function send(context: Context, input: SendInput): Promise<Sent> {
  const { to, problems } = parseRecipients(input.to, input.link?.id !== undefined);
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
  const news = new News(context);
  const from = resolveFrom(context, input.from, input.login);
  const channel = await channelOf(context, input.channel, news);
  const dispatch = await linkOf(context, channel.id, input);
  const at = context.now();
  const messages = sendMessages(
    {
      ...dispatch,
      to,
      body: input.body,
      channel: channel.id,
      ...(input.tier === undefined ? {} : { tier: input.tier }),
    },
    { actor: from, at, ...(dispatch.host === undefined ? {} : { host: dispatch.host }) },
    dispatch.lookup,
  );
  for (const { message } of messages) assertSize(message);
  const written = messages.map(({ channel: where, message }) => ({
    where,
    message,
    ...outgoing(message, where, dispatch.host ?? context.hostname, context.suffix()),
  }));
  const { id } = dispatch;
  const noteSent = async (): Promise<void> => {
    if (id !== undefined)
      for (const { relPath } of written) await context.runs.noteSent(id, relPath);
    input.onDurable?.();
  };
  // Who serves the addressees is only for a warning: it is looked up while the push is under way.
  const tasks = messages.flatMap(({ message: { re, to } }) => (re.length === 0 ? to : []));
  const looking = withoutHost(context, tasks).catch(() => []);
  const delivered = await deliver(
    context,
    written.map(({ commit }) => commit),
    input.wait,
    {
      ...(input.id !== undefined && { id: input.id }),
      unreachable: input.unanswered ?? news.problem,
      onDurable: noteSent,
    },
  );
  if (!delivered.published) news.isVain();
  // It is sent by now: that there is no telling who serves them is no failure.
  await noteUnserved(context, tasks, await looking, news).catch(() => undefined);
  return {
    channel: channel.id,
    from,
    messages: written.map(({ where, relPath, message }) => ({
      relPath,
      ...(where === channel.id ? {} : { channel: where }),
      to: message.to.map(formatAddress),
      re: message.re,
      cause: message.cause,
    })),
    delivered,
  };
}

/**
 * The remote is asked for news at most once, and only when what is known here does not do: a
 * message is built on the newest tip anyway when it is pushed, so that asking first would double
 * what it costs.
 */
class News {
  readonly #context: Context;
  #asked: Promise<string | undefined> | undefined;
  /** Why the remote could not be asked. */
  problem: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** A push has just found that the remote does not answer. */
  isVain(): void {
    this.#asked ??= Promise.resolve(undefined);
  }

  /** Resolves to false when it was asked before. */
  async ask(): Promise<boolean> {
    const first = this.#asked === undefined;
    this.#asked ??= refreshed(this.#context).then((news) =>
      news.ok ? undefined : news.failure.reason,
    );
    this.problem = await this.#asked;
    return first;
  }
}

async function channelOf(
  context: Context,
  given: string | undefined,
  news: News,
): Promise<Channel> {
  try {
    return await resolveChannel(context, given);
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    await news.ask();
    return resolveChannel(context, given);
  }
}

/** Nothing is called sent that no dispatcher could read. */
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

/** An addressee no host serves is worth a warning: the mail waits (cli.md). Answers go to people too. */
async function noteUnserved(
  context: Context,
  addressees: readonly Address[],
  known: readonly Unserved[],
  news: News,
): Promise<void> {
  const asked = known.length > 0 && (await news.ask());
  for (const { name, host, serving } of asked ? await withoutHost(context, addressees) : known) {
    const where = serving.length > 0 ? ` (${name} is served by ${serving.join(', ')})` : '';
    context.note(
      `no host serves ${formatAddress(host === undefined ? { name } : { name, host })}${where}; the message waits until one does`,
    );
  }
}

interface Unserved extends Address {
  /** Aliases of the hosts that serve the name elsewhere. */
  serving: string[];
}

/** Of some addressees those that no host serves, and who serves the name elsewhere. */
async function withoutHost(context: Context, addressees: readonly Address[]): Promise<Unserved[]> {
  const named = addressees.filter(({ name }) => name !== EVERYONE);
  if (named.length === 0) return [];
  const hosts = await readHosts(context.transport, await tipOf(context));
  const served = hosts.flatMap(({ result }) => (result.ok ? [result.value] : []));
  return named.flatMap((address) => {
    const { name, host } = address;
    const serving = served.filter(({ actors }) => actors.has(name)).map(({ alias }) => alias);
    const there = host === undefined ? serving.length > 0 : serving.includes(host);
    return there ? [] : [{ ...address, serving }];
  });
}
