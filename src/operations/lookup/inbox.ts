import {
  addressedTo,
  countUnread,
  isUnread,
  listUnread,
  namedBy,
  unansweredBy,
} from '../../index/inbox.ts';
import type { Index } from '../../index/index.ts';
import { mayCancel } from '../../protocol/cancel.ts';
import { isQuestion } from '../../protocol/causality.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { isSentInterim } from '../../protocol/interim.ts';
import { parseMessage, type Located, type Message } from '../../protocol/message.ts';
import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import { isRelPath } from '../../protocol/names.ts';
import { loadChatMemory } from '../../state/chat-memory.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';
import { QuestionsBack } from './asked-back.ts';
import { messagesAt } from './messages-at.ts';
import { marked } from './marked.ts';
import { queuedMessages } from './queued.ts';

/** A message that came for somebody. */
export interface InboxEntry extends Located {
  channel: Channel;
  unread: boolean;
  /** Whether it asks that name something which no message of theirs answers yet. */
  asks: boolean;
}

/** What came for a name. */
export interface Inbox {
  /** The commit at which it was read. */
  tip: string;
  /** Unread messages first, the newest first among them and among the others. */
  entries: InboxEntry[];
  /** How many are unread, and how many ask something; {@link MOST_ASKING} stands for any number. */
  unread: number;
  questions: number;
  /** Whether `limit` left out older messages. */
  cut: boolean;
}

export interface InboxInput {
  /** For whom. */
  name: string;
  /** Only what asks that name something. */
  questions: boolean;
  /** The most messages. */
  limit: number;
}

/** The most questions that are read; whoever has more sees the newest. */
export const MOST_ASKING = 200;

/**
 * What came for a name, as far as is known locally. What counts as unread is the same as in the chat
 * (`countUnread`). The cost does not grow with the transport: the index lists what is shown, and only
 * that is read from git.
 *
 * @param indexing with `patience`, older messages may not be counted yet
 */
export async function inboxHere(
  context: Context,
  { name, questions, limit }: InboxInput,
  indexing: IndexOptions,
): Promise<Inbox> {
  const tip = await tipOf(context);
  const seen = await seenHere(context);
  return withIndex(context, indexing, async (index) => {
    const asking = await openQuestionsTo(context, index, { name, tip });
    const { refs: unread, total } = unreadFor(index, { name, seen, limit: limit + 1 });
    const keys = new Set(unread.map(messageKey));
    // Among so many of the newest there are enough that are not unread.
    const newest = questions ? [] : addressedTo(index, name, limit + 1 + keys.size);
    const rest = newest.filter((ref) => !keys.has(messageKey(ref)));
    const asked = new Set(asking.map(messageKey));
    const wanted = questions ? asking : [...unread, ...rest];
    const shown = wanted.slice(0, limit);
    const entries: InboxEntry[] = [];
    const channels = new Map<string, Channel>();
    for (const { channel: id, ...located } of await messagesAt(context, tip, shown)) {
      const { relPath } = located;
      const key = messageKey({ channel: id, relPath });
      const query = { channel: id, name, seen: seen[id] ?? '' };
      // A question may be older than all of the newest unread messages.
      const isOlder = !keys.has(key) && total > keys.size;
      const isNew = keys.has(key) || (isOlder && isUnread(index, query, relPath));
      const channel = channels.get(id) ?? (await context.reader.channel(tip, id));
      channels.set(id, channel);
      entries.push({ ...located, channel, unread: isNew, asks: asked.has(key) });
    }
    return {
      tip,
      entries: await marked(context, tip, entries),
      unread: total,
      questions: asking.length,
      cut: wanted.length > limit,
    };
  });
}

/** The newest relPath seen on this machine, by id of the channel. */
async function seenHere({ paths }: Context): Promise<Record<string, string>> {
  const { seen } = await loadChatMemory(paths.chat);
  return Object.fromEntries(Object.entries(seen).filter(([, relPath]) => isRelPath(relPath)));
}

function unreadFor(
  index: Index,
  { name, seen, limit }: { name: string; seen: Record<string, string>; limit: number },
): { refs: MessageRef[]; total: number } {
  const refs: MessageRef[] = [];
  let total = 0;
  for (const [channel, { last }] of Object.entries(index.counts().channels)) {
    const query = { channel, name, seen: seen[channel] ?? '' };
    if (query.seen >= last) continue;
    const count = countUnread(index, query);
    total += count;
    if (count > 0) refs.push(...listUnread(index, query, limit));
  }
  refs.sort((a, b) => (a.relPath < b.relPath ? 1 : -1));
  return { refs: refs.slice(0, limit), total };
}

/**
 * The messages that ask a name something: new tasks and questions in old threads, by people or
 * actors, and questions back ({@link QuestionsBack}), if no message of that name answers them, on the
 * bus or in this machine's outbox, and their writers did not take them back. At most {@link MOST_ASKING}, the newest first.
 */
async function openQuestionsTo(
  context: Context,
  index: Index,
  { name, tip }: { name: string; tip: string },
): Promise<MessageRef[]> {
  let named: ReadonlySet<string> | undefined;
  const back = new QuestionsBack(context, tip);
  const found: MessageRef[] = [];
  // Most of what may ask does not: words on the way to answers must not crowd out the questions.
  for (const ref of unansweredBy(index, name)) {
    if (found.length === MOST_ASKING) break;
    named ??= await namedInOutbox(context, name);
    if (named.has(messageKey(ref))) continue;
    const [located] = await context.reader.messages(tip, ref.channel, [ref.relPath]);
    if (located === undefined) continue;
    const { message } = located;
    const isAsking = isQuestion(message) || message.proposal === true;
    if (!isAsking && !(await back.has({ ...ref, message }))) continue;
    if (!(await isTakenBack(context, index, tip, { ...ref, message }))) found.push(ref);
  }
  return found;
}

/** The most messages of its writer that are read to find out whether a question was taken back. */
const MOST_CANCELS = 20;

async function isTakenBack(
  { reader }: Context,
  index: Index,
  tip: string,
  { channel, relPath, message }: MessageRef & Located,
): Promise<boolean> {
  const naming = namedBy(index, { channel, relPath }, message.from, MOST_CANCELS);
  const paths = naming.map((ref) => ref.relPath);
  const theirs = await reader.messages(tip, channel, paths);
  return theirs.some(
    ({ message: later }) => later.cancels === relPath && mayCancel(later, message),
  );
}

async function namedInOutbox(context: Context, name: string): Promise<Set<string>> {
  const named = new Set<string>();
  for (const { channel, content } of await queuedMessages(context)) {
    const parsed = parseMessage(Buffer.from(content));
    if (!parsed.ok || parsed.value.from !== name) continue;
    const { re, cause } = parsed.value;
    for (const relPath of [...re, ...cause]) named.add(messageKey({ channel, relPath }));
  }
  return named;
}

/** Whether a message that has just arrived asks a name something. */
export function asksOnArrival(message: Message, name: string): boolean {
  const { type, from, to } = message;
  const isNamed = from !== name && to.some((address) => address.name === name);
  const isAsking = isQuestion(message) || message.proposal === true || isSentInterim(message);
  return type === 'text' && isNamed && isAsking;
}
