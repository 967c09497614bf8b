import { CrosstalkError, reasonOf } from '../../errors.ts';
import { isAutomatic } from '../../index/writer.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { withIndex } from '../index/indexing.ts';
import { arrivals } from '../lookup/arrivals.ts';
import {
  asksOnArrival,
  inboxHere,
  unreadOf,
  type Inbox,
  type InboxEntry,
  type InboxInput,
} from '../state/inbox.ts';
import { marked } from '../lookup/marked.ts';
import { isFor, seenHere } from '../lookup/seen.ts';
import { waitForNews } from './news.ts';

/** Returns the mail for a name; see {@link inboxHere}. */
export async function inbox(
  context: Context,
  input: InboxInput,
  signal: AbortSignal,
): Promise<Inbox> {
  await refreshOrNote(context, signal);
  return inboxHere(context, input, {});
}

/**
 * Counts messages for a name as seen, at somebody's request; without a message all its mail, as far as is known
 * locally: each message alone, as one that comes later may be dated earlier.
 *
 * @throws CrosstalkError `refused` when that cannot be recorded
 */
export async function markSeen(context: Context, name: string, only?: MessageRef): Promise<void> {
  const seen = await seenHere(context);
  const refs =
    only === undefined
      ? await withIndex(context, {}, (index) => Object.values(unreadOf(index, seen, name)).flat())
      : [only];
  if (!seen.add(name, refs)) return;
  await seen.save().catch((error: unknown) => {
    const problem = `nothing was marked: ${context.paths.seen} cannot be written: ${reasonOf(error)}; make room, or give another folder with CROSSTALK_STATE_DIR`;
    throw new CrosstalkError('refused', problem, { cause: error });
  });
}

/**
 * Yields the messages for a name that arrive after a commit, as they arrive, until the signal is aborted.
 *
 * @param tip that of an {@link Inbox}
 */
export async function* followInbox(
  context: Context,
  tip: string,
  { name, questions }: InboxInput,
  signal: AbortSignal,
): AsyncGenerator<InboxEntry> {
  for (let seen = tip; ;) {
    const to = await waitForNews(context, seen, { signal, timeout: Infinity }).catch(
      (error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      },
    );
    if (to === undefined) return;
    for await (const arrived of arrivals(context, seen, to))
      for (const one of arrived) {
        const asks = asksOnArrival(one.message, name);
        if (!isFor(one.message, name) || (questions && !asks)) continue;
        const channel = await context.reader.channel(to, one.channel);
        yield* await marked(context, to, [
          { ...one, channel, unread: !isAutomatic(one.message), asks },
        ]);
      }
    seen = to;
  }
}
