import { excerptOf } from '../../protocol/text/excerpt.ts';
import { isOfRun } from '../agent-mode.ts';
import type { Context } from '../context.ts';
import type { IndexOptions } from '../index/indexing.ts';
import { inboxHere } from '../lookup/inbox.ts';
import type { InboxStatus } from './report.ts';

const SHOWN = 5;
const EXCERPT_BYTES = 100;

/**
 * What asks somebody something, as far as is known locally; it starts no git process of its own. A
 * run is handed what waits for its actor, so nothing is said of that.
 *
 * @param name of the one who looks
 */
export async function waitingFor(
  context: Context,
  name: string | undefined,
  counting: IndexOptions,
): Promise<InboxStatus | null> {
  if (name === undefined || isOfRun(context.agentMode)) return null;
  const input = { name, questions: true, limit: SHOWN };
  const { unread, questions, entries } = await inboxHere(context, input, counting);
  return {
    name,
    unread,
    questions,
    asking: entries.map(({ channel, relPath, message: { from, timestamp, body } }) => ({
      channel: channel.id,
      relPath,
      from,
      timestamp,
      excerpt: excerptOf(body, '', EXCERPT_BYTES).text,
    })),
  };
}
