import { Troubles } from './troubles.ts';

/** How often a pass tries what fails through no fault of a CLI, as a broken read may not break twice. */
const MOST_TRIES = 3;

/**
 * The jobs that fail through no fault of their CLI, by actor and channel. A dispatcher that serves tries
 * them for ever; one that makes a single pass gives up those that have failed often enough in a row.
 */
export class Stalls extends Troubles {
  readonly #failures = new Map<string, number>();
  /** Whether nothing is tried for ever, as the dispatcher has to come to an end. */
  isPass = false;

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
