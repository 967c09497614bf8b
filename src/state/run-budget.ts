import { Rows } from '../store/rows.ts';

const HOUR_MS = 3_600_000;

/**
 * The starts of each tier's CLI during the last hour, for `max_runs_per_hour`: a guard that no message
 * can circumvent. It is kept on disk, so that a restart does not reset it.
 */
export class RunBudget {
  readonly #rows: Rows<{ id: string; starts: number[] }>;

  /** @param root the state directory */
  constructor(root: string) {
    this.#rows = new Rows(root, 'run-start');
  }

  /**
   * Returns the time when the next run of a tier may start; undefined when it may start now.
   *
   * @param now milliseconds since the epoch. A start that lies in the future, after the clock was set
   *   back, does not count
   */
  async nextStart(
    actor: string,
    tier: string,
    limit: number,
    now: number,
  ): Promise<Date | undefined> {
    const recent = lately((await this.#rows.get(`${actor} ${tier}`))?.starts, now);
    const blocking = recent.length < limit ? undefined : recent[recent.length - limit];
    return blocking === undefined ? undefined : new Date(blocking + HOUR_MS);
  }

  /** Counts a start. */
  note(actor: string, tier: string, now: number): Promise<void> {
    return this.#change(actor, tier, (starts) => [...lately(starts, now), now]);
  }

  /** Removes a start after which no CLI was run. */
  takeBack(actor: string, tier: string, at: number): Promise<void> {
    return this.#change(actor, tier, (starts) =>
      starts.toSpliced(starts.lastIndexOf(at), starts.includes(at) ? 1 : 0),
    );
  }

  #change(actor: string, tier: string, make: (starts: number[]) => number[]): Promise<void> {
    return this.#rows.write((items) => {
      const id = `${actor} ${tier}`;
      items.put({ id, starts: make(items.get(id)?.starts ?? []) });
    });
  }
}

function lately(starts: readonly number[] = [], now: number): number[] {
  return starts.filter((at) => at > now - HOUR_MS && at <= now);
}
