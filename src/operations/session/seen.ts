import type { Context } from '../context.ts';
import type { Inbox } from '../lookup/inbox.ts';
import { Remembered } from './chat-memory.ts';

/**
 * Records that somebody has seen what came, as the chat does for what was on its screen. While older
 * unread messages are left out nothing is recorded, because they would count as seen too.
 */
export async function markSeen(context: Context, { entries, unread }: Inbox): Promise<void> {
  const shown = entries.filter((entry) => entry.unread);
  if (shown.length === 0 || shown.length < unread) return;
  const remembered = new Remembered(context);
  for (const { channel, relPath } of shown) remembered.seen(channel.id, relPath);
  await remembered.flush();
}
