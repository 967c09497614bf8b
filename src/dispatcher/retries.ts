import type { App } from '../bus/app.ts';
import { MAX_DELAY_MS, type DeadLetter } from '../state/dead-letters.ts';

/** Decides which dead letters are retried, and when (protocol.md §8). */
export class Retries {
  readonly #app: Pick<App, 'deadLetters' | 'outbox' | 'now'>;
  readonly #running = new Set<string>();

  constructor(app: Pick<App, 'deadLetters' | 'outbox' | 'now'>) {
    this.#app = app;
  }

  begin(id: string): void {
    this.#running.add(id);
  }

  end(id: string): void {
    this.#running.delete(id);
  }

  /** Returns the due dead letters that nobody is retrying and whose answer is not being published. */
  async due(): Promise<DeadLetter[]> {
    if (await this.#app.deadLetters.isEmpty()) return [];
    const now = this.#app.now();
    // No delay is that long, so a later time means that the clock was set back.
    const never = new Date(now.getTime() + 2 * MAX_DELAY_MS).toISOString();
    // Copied first, so that a retry which ends while we read still counts as running.
    const running = new Set(this.#running);
    // Read the outbox before the letters, because an answer leaves the outbox only after its letter
    // is deleted.
    const entries = await this.#app.outbox.all();
    const letters = await this.#app.deadLetters.all();
    const awaitingPush = new Set(entries.map(({ delivery }) => delivery?.deadLetter));
    return letters.filter(
      ({ id, state, next_retry_at: due = '' }) =>
        state === 'retrying' &&
        (due <= now.toISOString() || due > never) &&
        !running.has(id) &&
        !awaitingPush.has(id),
    );
  }

  /** When the next retry is due; undefined when none is. */
  async next(): Promise<Date | undefined> {
    const letters = await this.#app.deadLetters.all();
    const due = letters
      .filter(({ state, id }) => state === 'retrying' && !this.#running.has(id))
      .map(({ next_retry_at: at = '' }) => Date.parse(at))
      // One without a time is due with every tick.
      .filter((at) => !Number.isNaN(at));
    return due.length === 0 ? undefined : new Date(Math.min(...due));
  }
}
