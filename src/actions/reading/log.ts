import type { Address } from '../../protocol/address.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { relPathAt } from '../../protocol/layout.ts';
import {
  arrivals,
  CHUNK,
  readFiles,
  type Arrival,
  type MessageFile,
  newestFirst,
} from '../lookup/arrivals.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { marked } from '../lookup/marked.ts';
import { type Cancellation, withForces } from '../lookup/taken-back.ts';
import { waitForNews } from './news.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import type { WebForce } from '../../api/api.ts';

export interface LogInput {
  /** In any form in which a channel may be named; by default all channels. */
  channel?: string;
  /** Only messages that this name wrote. */
  from?: string;
  /** Only messages that name this addressee; with a host, only those for this host of it. */
  to?: Address;
  /** Only messages written since this time. */
  since?: Date;
  /** Most messages; the newest are returned. */
  limit: number;
  signal: AbortSignal;
}

export interface LogEntry extends Located {
  channel: Channel;
  /** The cancellation by which it was taken back, if that is among the messages shown. */
  cancelled?: Cancellation;
  /** Effect of a message that cancels another one. */
  force?: WebForce;
}

/** Some messages, the oldest first. */
export interface LogPage {
  /** The commit at which they were read. */
  tip: string;
  entries: LogEntry[];
  /** Whether the messages may come from several channels. */
  mixed: boolean;
  /** Whether `limit` left out older messages. */
  cut: boolean;
}

/**
 * Returns the newest messages in the order of time; day folders are read from the newest on until there are enough
 * messages. Files that cannot be read as messages are left out.
 *
 * @throws CrosstalkError `not_found` or `ambiguous` for the channel
 */
export async function log(context: Context, input: LogInput): Promise<LogPage> {
  const { signal, limit, since } = input;
  await refreshOrNote(context, signal);
  const tip = await tipOf(context);
  const channels = await channelsOf(context, tip, input);
  // One message more than wanted shows whether there are more.
  const wanted = limit === 0 ? 0 : limit + 1;
  const found: Arrival[] = [];
  let unread: MessageFile[] = [];
  const read = async (): Promise<void> => {
    while (unread.length > 0 && found.length < wanted) {
      signal.throwIfAborted();
      const arrived = await readFiles(context, unread.slice(0, CHUNK));
      unread = unread.slice(CHUNK);
      found.push(...arrived.filter(({ message }) => matches(input, message)));
    }
  };
  const ids = channels.map(({ id }) => id);
  const least = since === undefined ? '' : relPathAt(since, '').replace(/Z-.*/, '');
  for await (const files of newestFirst(context, tip, wanted === 0 ? [] : ids, least)) {
    unread.push(...files);
    // Days with few messages are read together.
    if (unread.length >= Math.min(wanted, CHUNK)) await read();
    if (found.length >= wanted) break;
  }
  await read();
  return {
    tip,
    entries: await entriesOf(context, tip, found.slice(0, limit).reverse()),
    mixed: channels.length > 1,
    cut: found.length > limit && limit > 0,
  };
}

/**
 * Yields the messages that arrive on the bus after `tip`, as they arrive, until `input.signal` is aborted. The time
 * at which they were written does not matter here: `since` and `limit` are ignored.
 */
export async function* follow(
  context: Context,
  tip: string,
  input: LogInput,
): AsyncGenerator<LogPage> {
  const { signal } = input;
  const only =
    input.channel === undefined ? undefined : await resolveChannel(context, input.channel);
  for (let seen = tip; ;) {
    const to = await nextTip(context, seen, signal);
    if (to === undefined) return;
    const mixed = (await channelsOf(context, to, input)).length > 1;
    for await (const arrived of arrivals(context, seen, to, only?.id)) {
      const wanted = arrived.filter(({ message }) => matches(input, message));
      yield { tip: to, entries: await entriesOf(context, to, wanted), mixed, cut: false };
    }
    seen = to;
  }
}

/** Returns the next tip; undefined once the signal is aborted. */
async function nextTip(
  context: Context,
  seen: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await waitForNews(context, seen, { signal, timeout: Infinity });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function channelsOf(context: Context, tip: string, input: LogInput): Promise<Channel[]> {
  return input.channel === undefined
    ? context.reader.channels(tip)
    : [await resolveChannel(context, input.channel)];
}

function matches({ from, to }: LogInput, message: Message): boolean {
  if (from !== undefined && message.from !== from) return false;
  return (
    to === undefined ||
    message.to.some(
      ({ name, host }) => name === to.name && (to.host === undefined || host === to.host),
    )
  );
}

async function entriesOf(
  context: Context,
  tip: string,
  found: readonly Arrival[],
): Promise<LogEntry[]> {
  const all = await withForces(context, await marked(context, tip, found));
  return Promise.all(
    all.map(async ({ channel, ...one }) => ({
      ...one,
      channel: await context.reader.channel(tip, channel),
    })),
  );
}
