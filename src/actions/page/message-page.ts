import { rankOf, slice } from '../../index/pages.ts';
import type { Index } from '../../index/index.ts';
import { formatAddress } from '../../protocol/address.ts';
import { parseMessage, type Located } from '../../protocol/message.ts';
import type { WebForce, WebMessage, WebMessagePage, WebMessageWhole } from '../../api/api.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { markOf } from '../../protocol/owed.ts';
import { marked } from '../lookup/marked.ts';
import { withForces } from '../lookup/taken-back.ts';
import { withNaming } from '../lookup/naming.ts';
import { queuedMessages } from '../lookup/queued.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { openStates } from './open-states.ts';
import { shownMessage } from '../reading/read.ts';

export interface PageInput {
  /** In any form in which a channel may be named. */
  channel: string;
  /**
   * The position of the page, by a relPath or by the number of messages before it; by default at
   * the end.
   */
  place?: { before: string } | { after: string } | { around: string } | { at: number };
  limit: number;
}

/**
 * Milliseconds to spend on an index that is behind; after that only the newest messages are shown.
 */
const PATIENCE_MS = 1000;
/** The most characters of a text in a list; the whole text has to be requested by its message. */
const BODY_CHARACTERS = 16_384;
/** A relPath before, and one after, every other relPath. */
const [FIRST, LAST] = [
  '0000/00/00/000000000Z-00000000.md',
  '9999/99/99/999999999Z-ffffffffffffffff.md',
];

/**
 * Some messages of a channel, oldest first. The index knows which ones; only these are read,
 * however many messages the channel has.
 *
 * @throws CrosstalkError `not_found` or `ambiguous` for the channel
 */
export async function messagePage(
  context: Context,
  input: PageInput,
): Promise<Omit<WebMessagePage, 'event_id'>> {
  const { id, name } = await resolveChannel(context, input.channel);
  const tip = await tipOf(context);
  const found = await withIndex(context, { patience: PATIENCE_MS }, (index, complete) => {
    const paths = pathsOf(index, id, input);
    const total = index.counts().channels[id]?.messages ?? 0;
    const first = paths[0] === undefined ? total : rankOf(index.database, id, paths[0]);
    return { paths, total, first, complete };
  });
  const { paths, total, first, complete } = found;
  const channel = { id, name };
  const read = await context.reader.messages(tip, id, paths);
  const messages = await marked(
    context,
    tip,
    read.map((located) => ({ ...located, channel: id })),
  );
  const states = await openStates(context, tip, id, read);
  const isEnd = first + paths.length >= total;
  return {
    channel: id,
    channel_name: name,
    messages: (await withForces(context, messages)).map((located) => {
      const theirs = states.get(located.relPath);
      return {
        ...webMessage(located, channel, { queued: false }),
        ...(theirs && { states: theirs }),
      };
    }),
    total,
    first,
    complete,
    before: first === 0 ? null : (paths[0] ?? LAST),
    after: isEnd ? null : (paths.at(-1) ?? FIRST),
    queued: isEnd ? await queuedIn(context, channel, tip) : [],
  };
}

function pathsOf(index: Index, channel: string, { place, limit }: PageInput): string[] {
  if (place === undefined) return index.around(channel, LAST, limit).before;
  if ('at' in place) return slice(index.database, channel, place.at, limit);
  if ('before' in place) return index.around(channel, place.before, limit).before;
  if ('after' in place) return index.around(channel, place.after, limit).after;
  const { before, after } = index.around(channel, place.around, limit);
  const older = Math.min(before.length, Math.max(Math.floor(limit / 2), limit - 1 - after.length));
  const some = older === 0 ? [] : before.slice(-older);
  return [...some, place.around, ...after].slice(0, limit);
}

/** Returns the messages to a channel that wait in this machine's outbox and are not on the bus yet. */
async function queuedIn(
  context: Context,
  channel: { id: string; name: string },
  tip: string,
): Promise<WebMessage[]> {
  const waiting = (await queuedMessages(context)).filter((file) => file.channel === channel.id);
  const isThere = await Promise.all(
    waiting.map(({ path }) => context.transport.objects.read(`${tip}:${path}`)),
  );
  const read = waiting.flatMap(({ relPath, content }, at) => {
    const message = isThere[at] === undefined ? parseMessage(Buffer.from(content)) : undefined;
    return message?.ok === true ? [{ channel, relPath, message: message.value, content }] : [];
  });
  const messages = await marked(context, tip, read, ({ content }) => content);
  return messages.map((located) => webMessage(located, channel, { queued: true }));
}

/**
 * Returns one complete message, and its answers.
 *
 * @throws CrosstalkError as {@link shownMessage} does
 */
export async function wholeMessage(context: Context, given: string): Promise<WebMessageWhole> {
  const { channel, queued, ...located } = await shownMessage(context, given);
  const ref = { channel: channel.id, relPath: located.relPath };
  const answers = await withNaming(context, await tipOf(context), (naming) => naming(ref, 're'));
  return {
    ...webMessage(located, channel, { queued }, Infinity),
    answered_by: answers.map((answer) => answer.relPath),
  };
}

/** Converts a message for a browser: its text as it was written, up to a limit. */
export function webMessage(
  { relPath, message, verified, force }: Located & { force?: WebForce },
  channel: { id: string; name: string },
  { queued }: { queued: boolean },
  characters = BODY_CHARACTERS,
): WebMessage {
  const { from, type, timestamp, re, cause, tier, host, body, json, schema, branch } = message;
  const mark = markOf(message);
  return {
    channel: channel.id,
    channel_name: channel.name,
    relPath,
    from,
    to: message.to.map(formatAddress),
    type,
    timestamp,
    re,
    cause,
    tier: tier ?? null,
    host: host ?? null,
    body: body.length <= characters ? body : beginning(body, characters),
    body_cut: body.length > characters,
    options: message.options ?? [],
    ...(json && { json }),
    ...(schema !== undefined && { schema }),
    queued,
    files: message.files ?? [],
    ...(mark !== null && { mark }),
    ...(force && { force }),
    ...(verified !== undefined && { verified }),
    ...(branch !== undefined && { branch }),
    ...(message.proposal && { proposal: message.proposal }),
    ...(message.decision !== undefined && { decision: message.decision }),
  };
}

function beginning(text: string, characters: number): string {
  return text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, '');
}
