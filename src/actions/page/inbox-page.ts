import type { WebInbox, WebInboxItem } from '../../api/api.ts';
import type { Lookup } from '../../protocol/causality.ts';
import { placeOfRef } from '../../protocol/layout.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { threadRoot } from '../../protocol/thread.ts';
import type { Context } from '../context.ts';
import { inboxHere, type InboxEntry } from '../state/inbox.ts';

/** Milliseconds to spend on an index that is behind. */
const PATIENCE_MS = 1000;
const EXCERPT_BYTES = 300;

export interface InboxPageInput {
  /** For whom. */
  name: string;
  /** The most messages. */
  limit: number;
  /** Whether only those are wanted that ask something or are unread. */
  open: boolean;
}

/** Returns the messages that ask a name something, then the other mail for it, unread first; as known locally. */
export async function inboxPage(
  context: Context,
  { name, limit, open }: InboxPageInput,
): Promise<Omit<WebInbox, 'event_id'>> {
  const indexing = { patience: PATIENCE_MS };
  const asking = await inboxHere(context, { name, questions: true, limit }, indexing);
  const came = await inboxHere(context, { name, questions: false, limit }, indexing);
  const others = came.entries.filter(({ asks, unread }) => !asks && (unread || !open));
  const entries = [...asking.entries, ...others].slice(0, limit);
  const lookups = new Map<string, Promise<Lookup>>();
  const messages = await Promise.all(
    entries.map(async (entry) => {
      const { id } = entry.channel;
      const theirs = entries.filter(({ channel }) => channel.id === id);
      const lookup = lookups.get(id) ?? context.reader.chain(came.tip, id, theirs);
      lookups.set(id, lookup);
      return itemOf(entry, await lookup);
    }),
  );
  const complete = asking.complete && came.complete;
  return { for: name, unread: came.unread, questions: asking.questions, messages, complete };
}

function itemOf(entry: InboxEntry, lookup: Lookup): WebInboxItem {
  const { channel, relPath, message, verified, unread, asks } = entry;
  const { from, timestamp, body, options = [], failed } = message;
  return {
    channel: channel.id,
    channel_name: channel.name,
    relPath,
    from,
    ...(verified !== undefined && { verified }),
    timestamp,
    excerpt: beginningOf(body),
    options,
    unread,
    waits_for_you: asks,
    proposal: message.proposal === true,
    tool: message.permission?.tool ?? null,
    failed: failed?.reason ?? null,
    dead_letter: failed?.dead_letter ?? null,
    question: questionOf(entry, lookup),
  };
}

function questionOf(entry: InboxEntry, lookup: Lookup): WebInboxItem['question'] {
  const root = threadRoot([entry], lookup);
  const first = lookup(root);
  if (root === entry.relPath || first === undefined) return null;
  const place = placeOfRef(entry.channel.id, root);
  return { ...place, from: first.from, excerpt: beginningOf(first.body) };
}

function beginningOf(body: string): string {
  return excerptOf(body, '', EXCERPT_BYTES).text;
}
