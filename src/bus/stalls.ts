import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import { Troubles, type Trouble } from './troubles.ts';

/** How often a pass tries what fails through no fault of a CLI, as a broken read may not break twice. */
const MOST_TRIES = 3;

/**
 * The jobs that fail through no fault of their CLI, by actor and channel. A dispatcher that serves tries
 * them for ever; one that makes a single pass gives up those that have failed often enough in a row.
 */
export class Stalls extends Troubles {
  readonly #failures = new Map<string, number>();
  /** Mail of which no run can be planned. */
  readonly mail: ItemTroubles;
  /** What sends messages by itself. */
  readonly automation: ItemTroubles;
  /** Whether nothing is tried for ever, as the dispatcher has to come to an end. */
  isPass = false;

  constructor(now: () => Date, log: Log) {
    super(now);
    this.mail = new ItemTroubles(now, log);
    this.automation = new ItemTroubles(now, log);
  }

  override get first(): Trouble | undefined {
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
 * Problems of single items, such as a mailbox or a dead letter, of which all are dealt with in each round. An item that
 * fails holds up nothing but itself, and is tried again in the next round.
 */
export class ItemTroubles extends Troubles {
  readonly #log: Log;
  readonly #failed = new Set<string>();

  constructor(now: () => Date, log: Log) {
    super(now);
    this.#log = log;
  }

  /** The result of a step for an item; undefined when it has failed. */
  async try<T>(key: string, step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.#fail(key, error);
      return undefined;
    }
  }

  /** What is found for an item, as far as it can be found. */
  async *each<T>(key: string, found: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* found;
    } catch (error) {
      this.#fail(key, error);
    }
  }

  /** Ends a round: what has not failed in it is over. */
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
