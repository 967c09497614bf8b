import type { Lookup } from '../protocol/causality.ts';
import { chainLevels } from '../protocol/causality.ts';
import type { Located } from '../protocol/message.ts';
import { answeredOn } from '../protocol/pending.ts';
import { planAnswers, type AnswerPlan } from '../protocol/reply.ts';
import { threadStart } from '../protocol/thread.ts';
import type { Archive } from './archive.ts';

/** Messages of the thread's channel that are looked at for a prompt, at most. */
const MAX_THREAD_SCAN = 5000;

/** What a batch is about: read once, used for the prompt and for linking the answer. */
export interface Briefing {
  batch: Located[];
  /** Messages that nobody can act on before content is found that is missing from this clone. */
  unread: string[];
  lookup: Lookup;
  /** The channel's messages since the thread began; empty for a fresh task. */
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
  archive: Archive,
  { tip, channel, messages, actor, host }: Batch,
): Promise<Briefing> {
  const batch = await archive.messages(tip, channel, messages);
  const read = new Set(batch.map(({ relPath }) => relPath));
  const { lookup, absent } = await archive.chainBehind(tip, channel, batch);
  const missing = messages.filter((relPath) => !read.has(relPath));
  const unread = new Set(await archive.unread(tip, channel, [...missing, ...absent]));
  const ownUnread = missing.filter((relPath) => unread.has(relPath));
  const start = threadStart(batch, lookup);
  const since =
    start === undefined ? [] : await archive.since(tip, channel, start, MAX_THREAD_SCAN);
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
