import type { Lookup } from '../protocol/causality.ts';
import { chainLevels } from '../protocol/causality.ts';
import { messageFile } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import { answeredOn } from '../protocol/pending.ts';
import { planAnswers, type AnswerPlan } from '../protocol/reply.ts';
import { THREAD_LIMITS } from '../protocol/prompt.ts';
import { threadOf, threadStart } from '../protocol/thread.ts';
import type { Transport } from '../transport/transport.ts';
import type { Archive } from './archive.ts';
import type { ChannelLinks } from './channel-links.ts';

/** What a batch is about: read once, used for the prompt and for linking the answer. */
export interface Briefing {
  batch: Located[];
  /** Messages that nobody can act on before content is found that is missing from this clone. */
  unread: string[];
  lookup: Lookup;
  /**
   * What names others of the channel's messages since the thread began, without text; empty for a
   * fresh task.
   */
  channel: Located[];
  /** What the actor has answered on this host already. */
  answered: ReadonlySet<string>;
  plans: AnswerPlan[];
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

/** Reads what a run is about. */
export async function brief(
  { transport, archive, links }: { transport: Transport; archive: Archive; links: ChannelLinks },
  { tip, channel, messages, actor, host }: Batch,
): Promise<Briefing> {
  const batch = await archive.messages(tip, channel, messages);
  const read = new Set(batch.map(({ relPath }) => relPath));
  const { lookup, absent } = await archive.chainBehind(tip, channel, batch);
  const missing = messages.filter((relPath) => !read.has(relPath));
  const unread = new Set(await unreadAt(transport, tip, channel, [...missing, ...absent]));
  const ownUnread = missing.filter((relPath) => unread.has(relPath));
  const start = threadStart(batch, lookup);
  const since = start === undefined ? [] : await links.since(tip, channel, start, batch);
  const known = new Map(since.map((item) => [item.relPath, item.message]));
  const answered = answeredOn(actor, host, since);
  return {
    batch,
    unread: unread.size > 0 && ownUnread.length === 0 ? messages : ownUnread,
    lookup: (relPath) => lookup(relPath) ?? known.get(relPath),
    channel: since,
    answered,
    plans: planAnswers(batch, actor, lookup, answered),
    depth: chainLevels(batch, lookup).length,
  };
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
    (await archive.messages(tip, channel, paths)).map(({ relPath, message }) => [relPath, message]),
  );
  return thread.map((located) => {
    const message = whole.get(located.relPath);
    return message === undefined ? located : { ...located, message };
  });
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
  const files = relPaths.map((relPath) => messageFile(channel, relPath));
  const standing = await transport.standing(commit, files);
  const unread: string[] = [];
  for (const relPath of relPaths) {
    const path = messageFile(channel, relPath);
    const isThere = standing.has(path);
    if (isThere && (await transport.objects.read(`${commit}:${path}`)) === undefined)
      unread.push(relPath);
  }
  return unread;
}
