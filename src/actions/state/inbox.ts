import {
  addressedIn,
  addressedTo,
  hasProposals,
  lastWritten,
  namedBy,
  unansweredBy,
} from '../../index/inbox.ts';
import type { Index } from '../../index/index.ts';
import { isQuestion } from '../../protocol/causality.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { isSentInterim } from '../../protocol/interim.ts';
import { parseMessage, type Located, type Message } from '../../protocol/message.ts';
import { messageKey, type MessageRef } from '../../protocol/layout.ts';
import type { Seen } from '../../state/people/seen.ts';
import { tipOf, type Context } from '../context.ts';
import { withIndex, type IndexOptions } from '../index/indexing.ts';
import { messagesAt } from '../lookup/arrivals.ts';
import { marked } from '../lookup/marked.ts';
import { OpenProposals } from './open-proposals.ts';
import { messagesIn } from '../lookup/queued.ts';
import { seenHere } from '../lookup/seen.ts';
import { cancellationsOf, inForce } from '../lookup/taken-back.ts';
import { readRecords, type Records } from './local.ts';
import { withNaming, type Naming } from '../lookup/naming.ts';

/** A message that came for somebody. */
export interface InboxEntry extends Located {
  channel: Channel;
  unread: boolean;
  /** Whether it asks that name something which no message of theirs answers yet. */
  asks: boolean;
}

/** Mail for a name. */
export interface Inbox {
  /** The commit at which it was read. */
  tip: string;
  /** Unread messages first, the newest first among them and among the others. */
  entries: InboxEntry[];
  /** Numbers of unread messages, and of questions; {@link MOST_ASKING} stands for any number. */
  unread: number;
  questions: number;
  /** Whether `limit` left out older messages. */
  cut: boolean;
  /** False while the index lacks messages, with `patience`. */
  complete: boolean;
}

export interface InboxInput {
  /** For whom. */
  name: string;
  /** Whether only the questions to that name are wanted. */
  questions: boolean;
  /** The most messages. */
  limit: number;
}

/** Most questions that are read; a name with more sees the newest. */
export const MOST_ASKING = 200;

/**
 * Returns the mail for a name, as far as is known locally; unread are the messages that the name has not seen here
 * ({@link Seen}). The cost does not grow with the transport: the index lists the shown messages, and only these are
 * read from git.
 *
 * @param indexing with `patience`, older messages may not be counted yet
 * @param known the records of this machine, for a caller that has read them
 */
export async function inboxHere(
  context: Context,
  { name, questions, limit }: InboxInput,
  indexing: IndexOptions,
  known?: Records,
): Promise<Inbox> {
  const tip = await tipOf(context);
  const [seen, records] = await Promise.all([seenHere(context), known ?? readRecords(context)]);
  return withIndex(context, indexing, async (index, complete) => {
    const asking = await openQuestionsTo(context, index, { name, tip, records });
    const unread = Object.values(unreadOf(index, seen, name))
      .flat()
      .sort((a, b) => (a.relPath < b.relPath ? 1 : -1));
    const keys = new Set(unread.map(messageKey));
    // Among so many of the newest there are enough read ones.
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
      const channel = channels.get(id) ?? (await context.reader.channel(tip, id));
      channels.set(id, channel);
      entries.push({ ...located, channel, unread: keys.has(key), asks: asked.has(key) });
    }
    return {
      tip,
      entries: await marked(context, tip, entries),
      unread: unread.length,
      questions: asking.length,
      cut: wanted.length > limit,
      complete,
    };
  });
}

/** Returns the mail that a name has not seen, by id of the channel, the newest first. */
export function unreadOf(index: Index, seen: Seen, name: string): Record<string, MessageRef[]> {
  const unread: Record<string, MessageRef[]> = {};
  for (const [channel, { last }] of Object.entries(index.counts().channels)) {
    const [mark, upTo] = [seen.markOf(name, channel), seen.begunAt(channel)];
    const after = mark < upTo ? lastWritten(index, { channel, name, upTo }, mark) : mark;
    if (after >= last) continue;
    unread[channel] = addressedIn(index, { channel, name, after })
      .map((relPath) => ({ channel, relPath }))
      .filter((ref) => !seen.has(name, ref));
  }
  return unread;
}

/**
 * Returns the messages that ask a name something: new tasks and questions in old threads, by people or actors, and
 * questions back ({@link QuestionsBack}), if no message of that name answers them, on the bus or in this machine's
 * outbox, and their writers did not take them back; and proposals that wait ({@link OpenProposals}). At most
 * {@link MOST_ASKING}: first those for which this machine waits, which no number of pushed messages can hide, and
 * then the newest first.
 */
async function openQuestionsTo(
  context: Context,
  index: Index,
  { name, tip, records }: { name: string; tip: string; records: Records },
): Promise<MessageRef[]> {
  const named = namedIn(records.outbox, name);
  const back = new QuestionsBack(context, tip);
  const proposals = new OpenProposals(context, { index, tip, approver: name, records });
  const found = hasProposals(index, name) ? await proposals.ofThisMachine() : [];
  const known = new Set(found.map(messageKey));
  // Most candidates are not questions: interim answers must not crowd out the questions.
  for (const { proposes, ...ref } of unansweredBy(index, name)) {
    if (found.length >= MOST_ASKING) break;
    if (known.has(messageKey(ref))) continue;
    if (!proposes && named.has(messageKey(ref))) continue;
    const [located] = await context.reader.messages(tip, ref.channel, [ref.relPath]);
    if (located === undefined) continue;
    const { message } = located;
    if (message.proposal === true) {
      if (await proposals.isOpen({ ...ref, message })) found.push(ref);
      continue;
    }
    if (!isQuestion(message) && !(await back.has({ ...ref, message }))) continue;
    if (!(await isTakenBack(context, index, tip, { ...ref, message }))) found.push(ref);
  }
  return found;
}

/** The most messages of its writer that are read to find out whether a question was taken back. */
const MOST_CANCELS = 20;

async function isTakenBack(
  context: Context,
  index: Index,
  tip: string,
  { channel, relPath, message }: MessageRef & Located,
): Promise<boolean> {
  const refs = namedBy(index, { channel, relPath }, message.from, MOST_CANCELS);
  const paths = refs.map((ref) => ref.relPath);
  const theirs = await context.reader.messages(tip, channel, paths);
  return inForce(await cancellationsOf(context, { channel, relPath }, theirs)) !== undefined;
}

function namedIn(outbox: Records['outbox'], name: string): Set<string> {
  const named = new Set<string>();
  for (const { channel, content } of messagesIn(outbox)) {
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

/** An interim answer. */
type Interim = MessageRef & Located;

/** Messages of one name to a question. */
interface Said {
  /** relPath of its newest answer; empty if there is none. */
  answered: string;
  /** relPaths of the tasks it delegated. */
  tasks: string[];
  /** Whether one of these has no answer; undefined until it is looked up. */
  waits?: boolean;
}

/** The most messages that are examined for one interim answer, and for one question. */
const MOST_QUESTIONS = 20;
const MOST_REACTIONS = 200;

/**
 * Finds out which interim answers are questions back (talk.md): their writers have not answered since, and do not
 * wait for others, to whom they delegated a part of the work. A question with options needs no guess. The messages to
 * a question are read once, however many interim answers name it.
 */
class QuestionsBack {
  readonly #context: Context;
  readonly #tip: string;
  readonly #said = new Map<string, ReadonlyMap<string, Said>>();

  /** @param tip the commit at which messages are read */
  constructor(context: Context, tip: string) {
    this.#context = context;
    this.#tip = tip;
  }

  async has(one: Interim): Promise<boolean> {
    // Printed text is an interim answer; a question back is sent.
    if (!isSentInterim(one.message)) return false;
    return withNaming(this.#context, this.#tip, (naming) => this.#isStillAsked(one, naming));
  }

  async #isStillAsked({ channel, relPath, message }: Interim, naming: Naming): Promise<boolean> {
    for (const question of message.re.slice(0, MOST_QUESTIONS)) {
      const said = (await this.#saidTo({ channel, relPath: question }, naming)).get(message.from);
      if (said === undefined) continue;
      if (said.answered > relPath) return false;
      if (message.options !== undefined) continue;
      said.waits ??= await lacksAnswer(channel, said.tasks, naming);
      if (said.waits) return false;
    }
    return message.re.length > 0;
  }

  async #saidTo(question: MessageRef, naming: Naming): Promise<ReadonlyMap<string, Said>> {
    const key = messageKey(question);
    const known = this.#said.get(key);
    if (known !== undefined) return known;
    const reactions = (await naming(question, 're_or_cause')).slice(-MOST_REACTIONS);
    const said = new Map<string, Said>();
    for (const { relPath, message } of reactions) {
      const { from, re, interim } = message;
      const theirs = said.get(from) ?? { answered: '', tasks: [] };
      said.set(from, theirs);
      const isAnswer = interim !== true && re.includes(question.relPath);
      if (isAnswer && relPath > theirs.answered) theirs.answered = relPath;
      if (re.length === 0) theirs.tasks.push(relPath);
    }
    this.#said.set(key, said);
    return said;
  }
}

async function lacksAnswer(
  channel: string,
  tasks: readonly string[],
  naming: Naming,
): Promise<boolean> {
  for (const relPath of tasks)
    if ((await naming({ channel, relPath }, 're')).length === 0) return true;
  return false;
}
