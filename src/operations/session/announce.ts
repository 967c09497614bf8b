import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '../../protocol/message.ts';
import { arrivals, type Arrival } from '../lookup/arrivals.ts';
import type { Context } from '../context.ts';
import { waitForNews } from '../reading/news.ts';

/** Milliseconds to the next look after a failure; doubled after each further one. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** The most references of a message that are followed. */
const MAX_RE = 50;

/**
 * Announces every message for a name that arrives on the bus: messages addressed to it, and answers
 * to its messages. After any failure it tries again later, without reporting it.
 *
 * @param since the commit after which messages are new
 * @param signal aborting it makes the function return
 */
export async function announceArrivals(
  context: Context,
  name: string,
  since: string,
  tell: (messages: readonly Message[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const quiet: Context = { ...context, note: () => undefined };
  let seen = since;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const tip = await waitForNews(quiet, seen, { signal, timeout: Infinity });
      if (tip === undefined) continue;
      const found: Message[] = [];
      for await (const some of arrivals(quiet, seen, tip))
        for (const arrival of some)
          if (await concerns(quiet, tip, arrival, name)) found.push(arrival.message);
      seen = tip;
      pause = FIRST_PAUSE_MS;
      if (found.length > 0) tell(found);
    } catch {
      await sleep(pause, undefined, { signal }).catch(() => undefined);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }
}

async function concerns(
  { reader }: Context,
  tip: string,
  { channel, message }: Arrival,
  name: string,
): Promise<boolean> {
  if (message.from === name) return false;
  if (message.to.some((address) => address.name === name)) return true;
  const answered = await reader.messages(tip, channel, message.re.slice(0, MAX_RE));
  return answered.some(({ message: { from } }) => from === name);
}
