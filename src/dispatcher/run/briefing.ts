import { type Lookup, chainLevels, missingOrigins } from '../../protocol/causality.ts';
import { messageFile } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import { answeredOn } from '../../protocol/pending.ts';
import { planAnswers, type AnswerPlan } from '../../protocol/reply.ts';
import { THREAD_LIMITS } from '../../protocol/prompt.ts';
import { byChannel, placeOfRef } from '../../protocol/reference.ts';
import { seenFrom } from '../../protocol/seen-from.ts';
import { threadOf, threadRoots, threadStart } from '../../protocol/thread.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Archive } from '../../bus/archive.ts';
import { Beginning } from '../../bus/beginning.ts';
import type { ChannelLinks } from '../../bus/channel-links.ts';
import type { Crossings } from '../../bus/crossings.ts';

/** What a batch is about: read once, used for the prompt and for linking the answer. */
export interface Briefing {
  batch: Located[];
  /** Messages that are not there, at the commit that the batch is read at. */
  absent: string[];
  /** Messages that nobody can act on before content is found that is missing from this clone. */
  unread: string[];
  lookup: Lookup;
  /**
   * What names other messages since the thread began, in its channel and in those the thread leads to,
   * as it looks from the channel, without text; empty for a fresh task.
   */
  channel: Located[];
  /** What the actor has answered on this host already. */
  answered: ReadonlySet<string>;
  plans: AnswerPlan[];
  /** Paths of messages that are not there, and that may ask what the batch is to answer. */
  lacking: string[];
  /** Messages from the first question to the batch. */
  depth: number;
}

/** The batch that is to be read, and where. */
interface Batch {
  actor: string;
  host: string;
  channel: string;
  /** The commit it is read at. */
  tip: string;
  messages: string[];
}

interface BriefingParts {
  transport: Transport;
  archive: Archive;
  links: ChannelLinks;
  crossings: Crossings;
}

/** Reads what a run is about. */
export async function brief(
  { transport, archive, links, crossings }: BriefingParts,
  { tip, channel, messages, actor, host }: Batch,
): Promise<Briefing> {
  const batch = await archive.messages(tip, channel, messages);
  const read = new Set(batch.map(({ relPath }) => relPath));
  const { lookup, absent } = await archive.chainBehind(tip, channel, batch);
  const missing = messages.filter((relPath) => !read.has(relPath));
  const unread = new Set(await unreadAt(transport, tip, channel, [...missing, ...absent]));
  const ownUnread = missing.filter((relPath) => unread.has(relPath));
  const since = await linkedSince(
    { transport, links, crossings },
    { tip, channel, actor },
    batch,
    lookup,
  );
  const known = new Map(since.map((item) => [item.relPath, item.message]));
  const answered = answeredOn(actor, host, since);
  return {
    batch,
    absent: missing.filter((relPath) => !unread.has(relPath)),
    unread: unread.size > 0 && ownUnread.length === 0 ? messages : ownUnread,
    lookup: (relPath) => lookup(relPath) ?? known.get(relPath),
    channel: since,
    answered,
    plans: planAnswers(batch, actor, lookup, answered),
    lacking: missingOrigins(batch, actor, lookup).map((ref) => fileOf(channel, ref)),
    depth: chainLevels(batch, lookup).length,
  };
}

/** Channels that a thread is followed into. */
const MAX_CHANNELS = 50;

/**
 * What names other messages since a thread began: in its own channel, and in those that its chain or a
 * message of the actor leads to or comes from.
 */
async function linkedSince(
  { transport, links, crossings }: Omit<BriefingParts, 'archive'>,
  { tip, channel, actor }: Pick<Batch, 'tip' | 'channel' | 'actor'>,
  batch: readonly Located[],
  lookup: Lookup,
): Promise<Located[]> {
  const start = threadStart(batch, lookup);
  if (start === undefined) return [];
  const firsts = threadRoots(batch, lookup).map((ref) => fileOf(channel, ref));
  const begun = new Beginning(transport, tip, start, firsts);
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

/** Messages by their names in a channel, with their text. */
async function textOf(
  archive: Archive,
  tip: string,
  home: string,
  refs: readonly string[],
): Promise<Located[]> {
  const found: Located[] = [];
  for (const [channel, relPaths] of byChannel(home, refs))
    for (const located of await archive.messages(tip, channel, relPaths))
      found.push(seenFrom(home, channel, located));
  return found;
}

/**
 * The thread that a prompt shows (`threadOf`), with the text of the messages that it has room for.
 *
 * @returns oldest first, by path
 */
export async function shownThread(
  archive: Archive,
  { tip, channel, actor }: Omit<Batch, 'messages'>,
  briefing: Briefing,
): Promise<Located[]> {
  const thread = threadOf(briefing.batch, actor, briefing.channel, briefing.lookup);
  const shown = [...thread.slice(0, 1), ...thread.slice(1).slice(-THREAD_LIMITS.messages)];
  const paths = shown.map(({ relPath }) => relPath);
  const whole = new Map(
    (await textOf(archive, tip, channel, paths)).map(({ relPath, message }) => [relPath, message]),
  );
  return thread.map((located) => {
    const message = whole.get(located.relPath);
    return message === undefined ? located : { ...located, message };
  });
}

function fileOf(home: string, ref: string): string {
  const { channel, relPath } = placeOfRef(home, ref);
  return messageFile(channel, relPath);
}

/**
 * Of paths whose messages could not be read those that stand there all the same, and are not merely
 * malformed: their content is missing from this clone, or damaged.
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
