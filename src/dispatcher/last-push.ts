import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbox } from '../state/outbox.ts';
import type { Publisher } from './publisher.ts';

/** A push that is still under way when the dispatcher stops gets this long. */
const LAST_PUSH_MS = 15_000;

/** Pushes what is in the outbox when a dispatcher stops; what does not leave in time stays there. */
export async function lastPush(outbox: Outbox, publisher: Publisher): Promise<void> {
  if ((await outbox.all()).length === 0) return;
  await Promise.race([
    publisher.flush().catch(() => undefined),
    sleep(LAST_PUSH_MS, undefined, { ref: false }),
  ]);
}
