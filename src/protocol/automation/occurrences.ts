import { Moments, offsetsIn } from './expression.ts';
import type { Quiet, Schedule } from './schedule.ts';

/** What decides when a schedule is due. */
export type Timing = Pick<Schedule, 'when' | 'quiet'>;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** Occurrences in a row that are looked at before a schedule counts as never due: quiet hours drop them. */
const MOST_DROPPED = 5000;

/**
 * When a schedule is due, without those occurrences that fall into its quiet hours. It knows nothing of
 * what was sent: the same file gives the same times on every machine, after every restart.
 */
export class Occurrences {
  readonly #next: (time: number) => number | undefined;
  readonly #quietFor: (time: number) => number;

  /** @param zone of its expression and its quiet hours */
  constructor({ when, quiet }: Timing, zone: string) {
    this.#quietFor = quiet === undefined ? () => 0 : quietMinutes(quiet, zone);
    if (when.kind === 'cron') {
      const moments = new Moments(when.expression, zone);
      this.#next = (time) => moments.after(time);
    } else if (when.kind === 'every') {
      this.#next = (time) => (Math.floor(time / when.ms) + 1) * when.ms;
    } else {
      this.#next = (time) => (when.time > time ? when.time : undefined);
    }
  }

  /** The first occurrence after a time, both in milliseconds since 1970; undefined if there is none. */
  after(time: number): number | undefined {
    let from = time;
    for (let dropped = 0; dropped < MOST_DROPPED; dropped++) {
      const next = this.#next(from);
      if (next === undefined) return undefined;
      const minutes = this.#quietFor(next);
      if (minutes === 0) return next;
      // The clock may be put forward in quiet hours, by two hours at most: then they end earlier.
      from = minutes > 180 ? next + (minutes - 180) * MINUTE_MS : next;
    }
    return undefined;
  }

  /** The last occurrence after one time, and not after the other; undefined if there is none. */
  last(after: number, until: number): number | undefined {
    let found: number | undefined;
    let [from, to] = [after, until];
    while (from < to) {
      const middle = found === undefined ? from : Math.floor((from + to) / 2);
      const next = this.after(middle);
      if (next !== undefined && next <= until) from = found = next;
      else if (found === undefined) return undefined;
      else to = middle;
    }
    return found;
  }
}

/** For how many minutes it is still quiet at a time; 0 when it is not. */
function quietMinutes({ from, until }: Quiet, zone: string): (time: number) => number {
  const offset = offsetsIn(zone);
  const length = (until - from + DAY_MINUTES) % DAY_MINUTES;
  return (time) => {
    const local = Math.floor((time + offset(time)) / MINUTE_MS) % DAY_MINUTES;
    const since = (local - from + DAY_MINUTES) % DAY_MINUTES;
    return since < length ? length - since : 0;
  };
}
