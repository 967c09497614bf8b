import type { WebInbox, WebInboxItem } from '../../api/api.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import type { Context } from '../context.ts';
import { inboxHere, type InboxEntry } from '../state/inbox.ts';

/** Milliseconds to spend on an index that is behind. */
const PATIENCE_MS = 1000;
const EXCERPT_BYTES = 300;

/** Returns the messages that ask a name something, then the other mail for it, unread first; as known locally. */
export async function inboxPage(
  context: Context,
  name: string,
  limit: number,
): Promise<Omit<WebInbox, 'event_id'>> {
  const indexing = { patience: PATIENCE_MS };
  const asking = await inboxHere(context, { name, questions: true, limit }, indexing);
  const came = await inboxHere(context, { name, questions: false, limit }, indexing);
  const others = came.entries.filter(({ asks }) => !asks);
  const messages = [...asking.entries, ...others].slice(0, limit).map(itemOf);
  return { for: name, unread: came.unread, questions: asking.questions, messages };
}

function itemOf({ channel, relPath, message, verified, unread, asks }: InboxEntry): WebInboxItem {
  const { from, timestamp, body, options = [], failed } = message;
  return {
    channel: channel.id,
    channel_name: channel.name,
    relPath,
    from,
    ...(verified !== undefined && { verified }),
    timestamp,
    excerpt: excerptOf(body, '', EXCERPT_BYTES).text,
    options,
    unread,
    waits_for_you: asks,
    proposal: message.proposal === true,
    failed: failed?.reason ?? null,
  };
}
