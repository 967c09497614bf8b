import { wait, type Wait } from '../wait.ts';
import type { Bell, Ring } from './socket/bell.ts';

/** What ended a wait. */
export type Rang = Ring | 'time' | 'aborted';

/** A wait that a bell cuts short; when it rings while nobody waits, that is kept for the next wait. */
export class Alarm {
  #wake: ((rang: Rang) => void) | undefined;
  #pending: Ring | undefined;
  readonly #wait: Wait;

  /** @param waits in the time of the machine, unless another one is given */
  constructor(bell: Pick<Bell, 'onRing'>, waits = wait) {
    this.#wait = waits;
    bell.onRing((what) => {
      if (this.#wake !== undefined) this.#wake(what);
      // Who asks the remote looks at what is known here too.
      else this.#pending = this.#pending === 'ask' ? 'ask' : what;
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
 * The polling rhythm (architecture, "Polling"): every second after activity, each quiet poll
 * doubling the wait up to the interval, give or take a tenth so that machines do not march in step.
 */
export class Rhythm {
  readonly #interval: number;
  #delay: number;

  /** @param interval milliseconds */
  constructor(interval: number) {
    this.#interval = interval;
    this.#delay = Math.min(FASTEST_MS, interval);
  }

  active(): void {
    this.#delay = Math.min(FASTEST_MS, this.#interval);
  }

  /** Milliseconds until the next poll. @param random from 0 to 1 */
  next(random: number): number {
    const delay = this.#delay * (0.9 + random / 5);
    this.#delay = Math.min(this.#delay * 2, this.#interval);
    return delay;
  }
}
