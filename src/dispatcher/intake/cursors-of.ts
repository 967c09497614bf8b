import type { Mailboxes } from '../../protocol/mailbox.ts';
import type { ActorCursors } from '../../state/cursors.ts';

/**
 * The cursors to keep: of each active actor, where its mailboxes stand; of others, what was stored.
 *
 * @param through the last commit that was scanned
 */
export function cursorsOf(
  mailboxes: Mailboxes,
  active: ReadonlySet<string>,
  through: string,
  stored: ReadonlyMap<string, ActorCursors> = new Map(),
): Map<string, ActorCursors> {
  const cursors = new Map(stored);
  for (const actor of active) {
    const channels: ActorCursors['channels'] = {};
    for (const channel of mailboxes.lagging(actor)) {
      const cursor = mailboxes.cursor(actor, channel);
      if (cursor !== undefined) channels[channel] = cursor;
    }
    cursors.set(actor, { through, channels });
  }
  return cursors;
}
