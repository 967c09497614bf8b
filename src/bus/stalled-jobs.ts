import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';

/** A current problem, and its first time (ISO 8601 in UTC). */
export interface TrackedError {
  since: string;
  reason: string;
}

/** Problems that last until they are over, by the item that they concern. */
export class ErrorTracker {
  readonly #found = new Map<string, TrackedError>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** The current problem that was noted first. */
  get first(): TrackedError | undefined {
    return this.#found.values().next().value;
  }

  of(key: string): TrackedError | undefined {
    return this.#found.get(key);
  }

  /** Records that a problem exists, or no longer exists; its first time is kept. */
  note(key: string, reason: string | undefined): void {
    if (reason === undefined) this.#found.delete(key);
    else {
      const since = this.#found.get(key)?.since ?? this.#now().toISOString();
      this.#found.set(key, { since, reason });
    }
  }

  over(key: string): void {
    this.#found.delete(key);
  }

  /** Removes all problems except those with these keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of [...this.#found.keys()]) if (!keys.has(key)) this.#found.delete(key);
  }
}

/**
 * Maximum number of tries in a single pass for a failure that no CLI caused, as a failed read may succeed
 * the next time.
 */
const MOST_TRIES = 3;

/**
 * Failures that no CLI caused, by actor and channel. A serving dispatcher retries them for ever; one that
 * makes a single pass gives up those that have failed often enough in a row.
 */
export class StalledJobs extends ErrorTracker {
  readonly #failures = new Map<string, number>();
  /** Mail for which no run can be planned. */
  readonly mail: ItemErrors;
  /** Items that send messages automatically. */
  readonly automation: ItemErrors;
  /** Whether the dispatcher makes a single pass, in which nothing is retried for ever. */
  isPass = false;

  constructor(now: () => Date, log: Log) {
    super(now);
    this.mail = new ItemErrors(now, log);
    this.automation = new ItemErrors(now, log);
  }

  override get first(): TrackedError | undefined {
    return super.first ?? this.mail.first ?? this.automation.first;
  }

  override note(key: string, reason: string | undefined): void {
    super.note(key, reason);
    if (reason === undefined) this.#failures.delete(key);
    else this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
  }

  override over(key: string): void {
    super.over(key);
    this.#failures.delete(key);
  }

  /** Whether mail of an actor in a channel is left for a later pass. */
  isGivenUp({ actor, channel }: { actor: string; channel: string }): boolean {
    return this.isPass && (this.#failures.get(`${actor} ${channel}`) ?? 0) >= MOST_TRIES;
  }
}

/**
 * Problems of single items, such as a mailbox or a dead letter, all of which are processed in each round.
 * An item that fails blocks no other item, and is retried in the next round.
 */
export class ItemErrors extends ErrorTracker {
  readonly #log: Log;
  readonly #failed = new Set<string>();

  constructor(now: () => Date, log: Log) {
    super(now);
    this.#log = log;
  }

  /** Runs a step for an item; returns undefined when it has failed. */
  async try<T>(key: string, step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.#fail(key, error);
      return undefined;
    }
  }

  /** Yields the results for an item until a failure. */
  async *each<T>(key: string, found: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* found;
    } catch (error) {
      this.#fail(key, error);
    }
  }

  /** Ends a round: problems that did not occur in it are over. */
  endRound(): void {
    this.keep(this.#failed);
    this.#failed.clear();
  }

  #fail(key: string, error: unknown): void {
    const reason = `${key}: ${reasonOf(error)}`;
    this.#failed.add(key);
    if (this.of(key)?.reason !== reason) this.#log('internal_error', { error: reason });
    this.note(key, reason);
  }
}
