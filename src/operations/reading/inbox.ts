import { isAutomatic } from '../../index/tags.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { arrivals, type Arrival } from '../lookup/arrivals.ts';
import {
  asksOnArrival,
  inboxHere,
  type Inbox,
  type InboxEntry,
  type InboxInput,
} from '../lookup/inbox.ts';
import { marked } from '../lookup/marked.ts';
import { waitForNews } from './news.ts';

/**
 * What came for a name; see {@link inboxHere}.
 */
export async function inbox(
  context: Context,
  input: InboxInput,
  signal: AbortSignal,
): Promise<Inbox> {
  await refreshOrNote(context, signal);
  return inboxHere(context, input, {});
}

/**
 * The messages for a name that arrive after a commit, as they arrive, until the signal is aborted.
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
        if (!isFor(one, name) || (questions && !asks)) continue;
        const channel = await context.reader.channel(to, one.channel);
        yield* await marked(context, to, [
          { ...one, channel, unread: !isAutomatic(one.message), asks },
        ]);
      }
    seen = to;
  }
}

/** Whether a message came for a name. */
function isFor({ message: { from, to } }: Arrival, name: string): boolean {
  return from !== name && to.some((address) => [name, EVERYONE].includes(address.name));
}
