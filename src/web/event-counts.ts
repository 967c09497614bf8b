import type { WebPublishedEvent } from '../api/api.ts';
import { problemOf } from './answers.ts';

/** Why an event was refused, by the status of the answer; none of them comes from the request. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  408: 'too_slow',
  409: 'held',
  413: 'too_large',
  429: 'too_many',
  503: 'busy',
};

/** How often something became of an event; `reason` is empty for what was not refused. */
interface Counted {
  outcome: WebPublishedEvent['state'] | 'refused';
  reason: string;
  count: number;
}

/** What became of the events that a server was told of since its start. */
export class EventCounts {
  readonly #counted = new Map<string, Counted>();

  get all(): Counted[] {
    return [...this.#counted.values()];
  }

  /** Counts an event by what came of it. */
  async of(publish: () => Promise<WebPublishedEvent>): Promise<WebPublishedEvent> {
    try {
      const published = await publish();
      this.#count(published.state, '');
      return published;
    } catch (error) {
      this.#count('refused', REASONS[problemOf(error).status] ?? 'internal');
      throw error;
    }
  }

  #count(outcome: Counted['outcome'], reason: string): void {
    const key = `${outcome} ${reason}`;
    const known = this.#counted.get(key);
    if (known === undefined) this.#counted.set(key, { outcome, reason, count: 1 });
    else known.count++;
  }
}
