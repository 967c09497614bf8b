/** What a task waits for: a number of milliseconds, or the opening of a gate. */
type Wait = number | Gate;

/** A process in simulated time; it runs until it yields what it waits for. */
export type Task<T = void> = Generator<Wait, T, undefined>;

/** Lets all waiting tasks continue, once. */
export class Gate {
  #waiting: (() => void)[] = [];

  wait(resume: () => void): void {
    this.#waiting.push(resume);
  }

  open(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}

interface Event {
  at: number;
  serial: number;
  run: () => void;
}

/** Discrete events in the order of their time, and of their creation if the times are equal. */
export class Clock {
  /** Milliseconds since the beginning. */
  now = 0;
  #serial = 0;
  /** A binary heap with the earliest event first. */
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

  start(task: Task): void {
    const next = task.next();
    if (next.done === true) return;
    const resume = (): void => {
      this.start(task);
    };
    if (typeof next.value === 'number') this.after(next.value, resume);
    else
      next.value.wait(() => {
        this.after(0, resume);
      });
  }

  /** Runs until a time, or until no event is left. */
  run(until: number): void {
    for (let first = this.#events[0]; first !== undefined && first.at <= until;) {
      this.#removeFirst();
      this.now = first.at;
      first.run();
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

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.serial < b.serial);
}

/** Random numbers from 0 to 1, which are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
