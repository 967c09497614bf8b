import type { Engine } from './engine.ts';
import type { Address } from '../../protocol/address.ts';
import { cancelledIn } from '../../protocol/cancel.ts';
import {
  type Lookup,
  chainLevels,
  depthOf,
  missingOrigins,
  seenFrom,
  openQuestionsOfBatch,
  stillOpen,
} from '../../protocol/causality.ts';
import { messageFile, byChannel, placeOfRef } from '../../protocol/layout.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { answeredOn, type CanAnswer } from '../../protocol/pending.ts';
import {
  planAnswers,
  type AnswerPlan,
  askersOf,
  senderAddress,
  type Placed,
} from '../../protocol/reply.ts';
import { THREAD_LIMITS } from '../../protocol/prompt/prompt-thread.ts';
import { withSteerings } from '../../protocol/steer.ts';
import { threadOf, threadRoots, threadStart, threadRoot } from '../../protocol/thread.ts';
import type { Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import { canAnswerAt } from '../../bus/peers.ts';
import { ThreadStart } from '../../bus/thread-start.ts';
import { withoutForgedCancels } from '../../bus/verifier.ts';

/** Content of a batch with its context: read once, and used for the prompt and for linking the answer. */
export interface Briefing {
  batch: Located[];
  /** Messages that do not exist at the commit at which the batch is read. */
  absent: string[];
  /** Messages that cannot be acted on, because content they depend on is missing from this clone. */
  unread: string[];
  lookup: Lookup;
  /**
   * The messages that name other messages since the thread started, in its channel and in those the thread leads to,
   * with names relative to the channel and without text; empty for a fresh task.
   */
  channel: Located[];
  /** Messages that the actor has already answered on this host. */
  answered: ReadonlySet<string>;
  /** Messages that it need not answer any more, as their writer cancelled them. */
  cancelled: ReadonlySet<string>;
  plans: AnswerPlan[];
  /** Paths of missing messages that may contain the question which the batch should answer. */
  lacking: string[];
  /** States who can answer the messages of the actor. */
  canAnswer: CanAnswer;
  /** The number of messages from the newest question that started the work (`depthOf`). */
  depth: number;
}

/** The batch to read. */
interface Batch {
  actor: string;
  host: string;
  channel: string;
  /** The commit at which it is read. */
  tip: string;
  messages: string[];
  /** Claims of its messages, if one of several hosts takes each. */
  claims?: readonly { n: number }[];
}

/** Reads the messages that a run is about. */
export async function brief(
  { transport, reader, links, crossings, verifier }: Engine,
  { tip, channel, messages, actor, host, claims = [] }: Batch,
): Promise<Briefing> {
  const batch = await reader.messages(tip, channel, messages);
  const read = new Set(batch.map(({ relPath }) => relPath));
  const { lookup, absent } = await reader.chainBehind(tip, channel, batch);
  const missing = messages.filter((relPath) => !read.has(relPath));
  const unread = new Set(await unreadAt(transport, tip, channel, [...missing, ...absent]));
  const ownUnread = missing.filter((relPath) => unread.has(relPath));
  const since = await linkedSince(
    { transport, links, crossings },
    { tip, channel, actor },
    batch,
    lookup,
    // Something may have become of what another host had before, though nothing precedes it.
    claims.some(({ n }) => n > 1) ? batch[0]?.relPath : undefined,
  );
  const known = new Map(since.map((item) => [item.relPath, item.message]));
  const answered = answeredOn(actor, host, since);
  const seen: Lookup = (ref) => lookup(ref) ?? known.get(ref);
  const believed = await withoutForgedCancels(verifier, { tip, from: channel }, since);
  const cancelled = cancelledIn(believed, { actor, host }, seen);
  const closed = new Set([...answered, ...cancelled]);
  return {
    batch,
    absent: missing.filter((relPath) => !unread.has(relPath)),
    unread: unread.size > 0 && ownUnread.length === 0 ? messages : ownUnread,
    lookup: seen,
    channel: since,
    answered,
    cancelled,
    plans: withSteerings(planAnswers(batch, actor, lookup, closed), actor, since, closed),
    lacking: missingOrigins(batch, actor, lookup).map((ref) => fileOf(channel, ref)),
    canAnswer: await canAnswerAt(transport, tip, askedBy(actor, since)),
    depth: depthOf(batch, lookup),
  };
}

/** Returns those to whom an actor has delegated tasks. */
export function askedBy(actor: string, channel: readonly Located[]): Address[] {
  const isTask = ({ from, re }: Message): boolean => from === actor && re.length === 0;
  return channel.flatMap(({ message }) => (isTask(message) ? message.to : []));
}

/** The most channels into which a thread is followed. */
const MAX_CHANNELS = 50;

/**
 * Returns the messages that name other messages since a thread started: in its own channel, and in those that its
 * chain or a message of the actor leads to or comes from.
 *
 * @param first the relPath from which is read where nothing precedes the batch; without it nothing is
 */
async function linkedSince(
  { transport, links, crossings }: Pick<Engine, 'transport' | 'links' | 'crossings'>,
  { tip, channel, actor }: Pick<Batch, 'tip' | 'channel' | 'actor'>,
  batch: readonly Located[],
  lookup: Lookup,
  first: string | undefined,
): Promise<Located[]> {
  const start = threadStart(batch, lookup) ?? first;
  if (start === undefined) return [];
  const firsts = threadRoots(batch, lookup).map((ref) => fileOf(channel, ref));
  const begun = new ThreadStart(transport, tip, start, firsts);
  const since = await links.since(tip, channel, begun, batch);
  const crossed = await crossings.since(tip, begun, channel);
  const own = [
    ...since.filter(({ message }) => message.from === actor),
    ...crossed
      .filter(({ message }) => message.from === actor)
      .map((one) => seenFrom(channel, one.channel, one)),
  ];
  const named = own.flatMap(({ relPath, message }) => [relPath, ...message.cause, ...message.re]);
  const chain = chainLevels(batch, lookup).flat();
  const places = byChannel(channel, [...chain.map(({ relPath }) => relPath), ...named]);
  places.delete(channel);
  for (const other of [...places.keys()].slice(0, MAX_CHANNELS))
    for (const located of await links.since(tip, other, begun, []))
      since.push(seenFrom(channel, other, located));
  return since;
}

/** Reads messages by their names in a channel, with their text. */
async function textOf(
  reader: MessageReader,
  tip: string,
  home: string,
  refs: readonly string[],
): Promise<Located[]> {
  const found: Located[] = [];
  for (const [channel, relPaths] of byChannel(home, refs))
    for (const located of await reader.messages(tip, channel, relPaths))
      found.push(seenFrom(home, channel, located));
  return found;
}

/**
 * Returns the thread that a prompt shows (`threadOf`), with the text of the messages for which it has room.
 *
 * @param knows whether its run knows a message already
 * @returns oldest first, by path
 */
export async function shownThread(
  reader: MessageReader,
  { tip, channel, actor }: Omit<Batch, 'messages'>,
  briefing: Briefing,
  knows: (ref: string) => boolean = () => false,
): Promise<Located[]> {
  const whole = threadOf(briefing.batch, actor, briefing.channel, briefing.lookup);
  const thread = whole.filter(({ relPath }) => !knows(relPath));
  const shown = [...thread.slice(0, 1), ...thread.slice(1).slice(-THREAD_LIMITS.messages)];
  const paths = shown.map(({ relPath }) => relPath);
  const read = new Map(
    (await textOf(reader, tip, channel, paths)).map(({ relPath, message }) => [relPath, message]),
  );
  return thread.map((located) => {
    const message = read.get(located.relPath);
    return message === undefined ? located : { ...located, message };
  });
}

function fileOf(home: string, ref: string): string {
  const { channel, relPath } = placeOfRef(home, ref);
  return messageFile(channel, relPath);
}

/**
 * Selects the paths of unreadable messages that exist and are not merely malformed: their content
 * is missing from this clone, or damaged.
 */
async function unreadAt(
  transport: Transport,
  commit: string,
  channel: string,
  relPaths: readonly string[],
): Promise<string[]> {
  if (relPaths.length === 0) return [];
  const files = relPaths.map((ref) => fileOf(channel, ref));
  const standing = await transport.standing(commit, files);
  const unread: string[] = [];
  for (const relPath of relPaths) {
    const path = fileOf(channel, relPath);
    const isThere = standing.has(path);
    if (isThere && (await transport.objects.read(`${commit}:${path}`)) === undefined)
      unread.push(relPath);
  }
  return unread;
}

/**
 * Returns the people who are notified that an answer waits for somebody. An actor that asked is not: to wake it would
 * cost. The person who started the thread is notified instead.
 */
export function peopleWhoWait(
  actor: string,
  { batch, lookup, answered, cancelled }: Briefing,
): AnswerPlan[] {
  const closed = new Set([...answered, ...cancelled]);
  const open = stillOpen(openQuestionsOfBatch(batch, actor, lookup), closed);
  if (open.length === 0) return [];
  const people = open.filter(({ host }) => host === undefined);
  if (people.length > 0) return askersOf(people);
  const root = threadRoot(batch, lookup);
  const first = lookup(root) ?? batch.find(({ relPath }) => relPath === root)?.message;
  if (first === undefined || first.host !== undefined || first.from === actor) return [];
  return [{ to: senderAddress(first), re: [root], answers: true }];
}

/**
 * Returns a note that an answer is held. It states nothing of the question, so it is neither a word of the actor nor
 * a question back.
 */
export function whileHeld(
  { channel, message }: Placed,
  held: 'budget' | 'secret' | 'gate',
): Placed {
  return { channel, message: { ...message, interim: true, extra: { ...message.extra, held } } };
}
