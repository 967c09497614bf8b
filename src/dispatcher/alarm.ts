/** What ended a wait. */
export type Rang = 'woken' | 'time' | 'aborted';

/** A wait that can be cut short; a call that comes while nobody waits is kept for the next wait. */
export class Alarm {
  #ring: ((rang: Rang) => void) | undefined;
  #pending = false;

  ring(): void {
    if (this.#ring === undefined) this.#pending = true;
    else this.#ring('woken');
  }

  /** @param ms milliseconds */
  wait(ms: number, signal: AbortSignal): Promise<Rang> {
    if (signal.aborted) return Promise.resolve('aborted');
    if (this.#pending) {
      this.#pending = false;
      return Promise.resolve('woken');
    }
    return new Promise((resolve) => {
      const done = (rang: Rang): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.#ring = undefined;
        resolve(rang);
      };
      const abort = (): void => {
        done('aborted');
      };
      const timer = setTimeout(() => {
        done('time');
      }, ms);
      signal.addEventListener('abort', abort, { once: true });
      this.#ring = done;
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
