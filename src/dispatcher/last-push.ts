import type { Outbox } from '../state/outbox.ts';
import type { Publisher } from '../bus/publisher.ts';

/** Milliseconds given to a push that is still under way when the dispatcher stops. */
const LAST_PUSH_MS = 15_000;

/** Pushes the contents of the outbox when a dispatcher stops; entries not pushed in time stay there. */
export async function lastPush(outbox: Outbox, publisher: Publisher): Promise<void> {
  if (await outbox.isEmpty()) return;
  await inTime(publisher, () => publisher.flush().catch(() => undefined));
}

/** Waits for pushes, and abandons them when they take too long. */
export async function inTime(publisher: Publisher, pushes: () => Promise<void>): Promise<void> {
  const timer = setTimeout(() => {
    publisher.abandon();
  }, LAST_PUSH_MS);
  await pushes();
  clearTimeout(timer);
}
