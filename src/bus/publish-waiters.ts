import type { Failure } from '../transport/transport.ts';

/** The result of one outbox entry: it is on the remote, or still in the outbox with the reason. */
export type PublishOutcome = { published: true } | { published: false; failure: Failure };

/** The callers that wait for entries: several may wait for one, such as the run that wrote it and a `sync`. */
export class PublishWaiters {
  readonly #waiting = new Map<string, ((outcome: PublishOutcome) => void)[]>();

  add(id: string, tell: (outcome: PublishOutcome) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [tell]);
    else waiting.push(tell);
  }

  /** The ids of the entries with waiting callers. */
  get ids(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Notifies all callers that wait for an entry; they wait no longer. */
  tell(id: string, outcome: PublishOutcome): void {
    const waiting = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    for (const tell of waiting) tell(outcome);
  }
}
