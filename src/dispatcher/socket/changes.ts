import { wait } from '../../wait.ts';
import type { Bell } from './bell.ts';

/** Milliseconds between looks. */
const EACH_MS = 1000;

/**
 * Rings when another process has changed the database: a command that cannot reach the socket, as in another
 * container, has put something into the outbox, has sent it itself, or has let somebody go on.
 */
export async function lookAtChanges(
  isChanged: () => Promise<boolean>,
  bell: Bell,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    // What fails here fails in the next tick, which says so.
    if (await isChanged().catch(() => false)) bell.ring('look');
    await wait(EACH_MS, stop);
  }
}
