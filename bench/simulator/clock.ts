import type { Wait } from '../../src/wait.ts';

interface Event {
  at: number;
  serial: number;
  run: () => void;
}

/** Discrete events in the order of their time, and of their making where that is equal. */
export class Clock {
  /** Milliseconds since the beginning. */
  now = 0;
  #serial = 0;
  /** A binary heap, the earliest first. */
  readonly #events: Event[] = [];

  after(ms: number, run: () => void): void {
    const event = { at: this.now + Math.max(0, ms), serial: this.#serial++, run };
    const heap = this.#events;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  /** Waits in simulated time: what is given to the program in place of its own. */
  readonly wait: Wait = (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = (): void => {
        signal?.removeEventListener('abort', done);
        resolve();
      };
      signal?.addEventListener('abort', done);
      this.after(ms, done);
    });

  /**
   * Goes on until a time, or until nothing is left to happen. After each event, all that follows from
   * it without waiting is done before the next one: time does not go on while a promise is settling.
   */
  async run(until: number): Promise<void> {
    await Promise.resolve();
    await settled();
    for (let first = this.#events[0]; first !== undefined && first.at <= until;) {
      this.#removeFirst();
      this.now = first.at;
      first.run();
      await settled();
      first = this.#events[0];
    }
    this.now = until;
  }

  #removeFirst(): void {
    const heap = this.#events;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const child = left && right && before(right, left) ? right : left;
      if (child === undefined || !before(child, last)) break;
      heap[at] = child;
      at = child === left ? 2 * at + 1 : 2 * at + 2;
    }
    heap[at] = last;
  }
}

/**
 * Resolves when no job of a promise is left. Called from such a job, since node turns to its next
 * tick only when the jobs, and those that they make, are all done. That is sound as long as
 * simulated code waits for nothing but promises and this clock, and cheaper than a turn of the event
 * loop.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.serial < b.serial);
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
