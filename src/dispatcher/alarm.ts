import { wait, type Wait } from '../wait.ts';
import type { WakeUp, Ring } from './socket/answers.ts';

/** The reason why a wait ended. */
export type Rang = Ring | 'time' | 'aborted';

/** Each includes those before it. */
const ORDER: readonly Ring[] = ['look', 'fetch', 'ask'];

/**
 * A wait that a bell can end early; if the bell rings while nobody waits, the next wait ends at
 * once.
 */
export class Alarm {
  #wake: ((rang: Rang) => void) | undefined;
  #pending: Ring | undefined;
  readonly #wait: Wait;

  /** @param waits in the time of the machine, unless another one is given */
  constructor(bell: Pick<WakeUp, 'onRing'>, waits = wait) {
    this.#wait = waits;
    bell.onRing((what) => {
      if (this.#wake !== undefined) this.#wake(what);
      // Asking the remote includes looking at the local state.
      else if (ORDER.indexOf(what) > ORDER.indexOf(this.#pending ?? 'look')) this.#pending = what;
      else this.#pending ??= what;
    });
  }

  /** @param ms milliseconds */
  wait(ms: number, signal: AbortSignal): Promise<Rang> {
    if (signal.aborted) return Promise.resolve('aborted');
    const rung = this.#pending;
    if (rung !== undefined) {
      this.#pending = undefined;
      return Promise.resolve(rung);
    }
    return new Promise((resolve) => {
      const over = new AbortController();
      const done = (rang: Rang): void => {
        over.abort();
        signal.removeEventListener('abort', abort);
        this.#wake = undefined;
        resolve(rang);
      };
      const abort = (): void => {
        done('aborted');
      };
      void this.#wait(ms, over.signal).then(() => {
        if (!over.signal.aborted) done('time');
      });
      signal.addEventListener('abort', abort, { once: true });
      this.#wake = done;
    });
  }
}

const FASTEST_MS = 1000;

/**
 * The polling rhythm (architecture, "Polling"): a second after activity; each quiet poll doubles
 * the wait up to the interval. A random tenth is added or subtracted, so that machines do not poll
 * at the same time.
 */
export class Rhythm {
  readonly #interval: () => number;
  #delay = FASTEST_MS;

  /** @param interval the longest wait, in milliseconds; it may change */
  constructor(interval: () => number) {
    this.#interval = interval;
  }

  active(): void {
    this.#delay = FASTEST_MS;
  }

  /** Milliseconds until the next poll. @param random from 0 to 1 */
  next(random: number): number {
    const interval = this.#interval();
    const delay = Math.min(this.#delay, interval);
    this.#delay = Math.min(delay * 2, interval);
    return delay * (0.9 + random / 5);
  }
}
