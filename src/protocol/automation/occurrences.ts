import { Moments, offsetsIn } from './expression.ts';
import type { Quiet, Schedule } from './schedule.ts';
import { type Message } from '../message.ts';
import { isName } from '../layout.ts';
import { type StartedBy } from '../text/words.ts';
import { utcOf } from '../text/times.ts';

/** The fields of a schedule that determine when it is due. */
export type Timing = Pick<Schedule, 'when' | 'quiet'>;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/**
 * Most consecutive spans of quiet hours that are examined before a schedule counts as never due: more than a
 * year of days, in which every clock was put forward and back.
 */
const MOST_QUIET = 400;

/**
 * The times at which a schedule is due, without those that fall into its quiet hours. They do not depend on
 * what was sent: the same file gives the same times on every machine, after every restart.
 */
export class Occurrences {
  readonly #next: (time: number) => number | undefined;
  readonly #quietUntil: (time: number) => number | undefined;

  /** @param zone of its expression and its quiet hours */
  constructor({ when, quiet }: Timing, zone: string) {
    this.#quietUntil = quiet === undefined ? () => undefined : endOfQuiet(quiet, zone);
    if (when.kind === 'cron') {
      const moments = new Moments(when.expression, zone);
      this.#next = (time) => moments.after(time);
    } else if (when.kind === 'every') {
      this.#next = (time) => (Math.floor(time / when.ms) + 1) * when.ms;
    } else {
      this.#next = (time) => (when.time > time ? when.time : undefined);
    }
  }

  /** Returns the first occurrence after a time, both in milliseconds since 1970; undefined if there is none. */
  after(time: number): number | undefined {
    let from = time;
    for (let spans = 0; spans < MOST_QUIET; spans++) {
      const next = this.#next(from);
      const until = next === undefined ? undefined : this.#quietUntil(next);
      if (until === undefined) return next;
      from = until - 1;
    }
    return undefined;
  }

  /** Returns the last occurrence after one time, and not after the other; undefined if there is none. */
  last(after: number, until: number): number | undefined {
    let found = this.after(after);
    if (found === undefined || found > until) return undefined;
    // Most often it is the only one; otherwise each step halves the time in which there may be a later one.
    for (let [asked, to] = [found, until]; found < to; asked = Math.floor((found + to) / 2)) {
      const next = this.after(asked);
      if (next !== undefined && next <= until) found = next;
      else to = asked;
    }
    return found;
  }
}

/**
 * Returns a function that computes the end of quiet hours, in milliseconds since 1970, without a change of
 * the clocks; undefined when it is not quiet at a time. After such a change it has to be called again.
 */
function endOfQuiet({ from, until }: Quiet, zone: string): (time: number) => number | undefined {
  const offset = offsetsIn(zone);
  const length = (until - from + DAY_MINUTES) % DAY_MINUTES;
  return (time) => {
    const ahead = offset(time);
    const minute = Math.floor((time + ahead) / MINUTE_MS);
    const since = ((minute % DAY_MINUTES) - from + 2 * DAY_MINUTES) % DAY_MINUTES;
    if (since >= length) return undefined;
    const end = (minute + length - since) * MINUTE_MS - ahead;
    return offset(end) === ahead ? end : changeBetween(offset, time, end);
  };
}

/** Finds the first moment after a time at which the offset of the clocks differs from that time's. */
function changeBetween(offset: (time: number) => number, time: number, end: number): number {
  const ahead = offset(time);
  let [early, late] = [time, end];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (offset(middle) === ahead) early = middle;
    else late = middle;
  }
  return late;
}

/** Milliseconds by which an occurrence may be late and still counts as on time. */
export const ON_TIME_MS = 120_000;

/** Pending occurrence of a schedule. */
interface Due {
  /** The last occurrence so far, in milliseconds since 1970; undefined if there was none. */
  due?: number;
  /** Whether it came while no dispatcher ran, and is not to be sent any more. */
  isMissed: boolean;
}

/**
 * Determines whether a schedule is due. Of several past occurrences only the last one counts.
 *
 * @param after time until which occurrences are handled: the creation of the file, or the last occurrence
 * @param now both in milliseconds since 1970
 */
export function dueNow(
  { catchUp, grace }: Pick<Schedule, 'catchUp' | 'grace'>,
  occurrences: Occurrences,
  after: number,
  now: number,
): Due {
  const due = occurrences.last(after, now);
  if (due === undefined) return { isMissed: false };
  const late = now - due;
  return { due, isMissed: late > ON_TIME_MS && (catchUp === 'none' || late > grace) };
}

/**
 * Composes the message of an occurrence, with the machine-made facts on its origin.
 *
 * @param host the alias of the machine that writes it; undefined for an operator, who has none
 */
export function scheduledMessage(schedule: Schedule, due: Date, host: string | undefined): Message {
  const { name, from, to, tier, body } = schedule;
  const at = due.toISOString();
  return {
    from,
    to,
    type: 'text',
    timestamp: at,
    re: [],
    cause: [],
    ...(tier !== undefined && { tier }),
    ...(host !== undefined && { host }),
    extra: { schedule: name, due: at },
    body,
  };
}

/** Parses the facts that {@link scheduledMessage} writes; undefined for any other message. */
export function startedBy({ extra }: Pick<Message, 'extra'>): StartedBy | undefined {
  const { schedule, due } = extra;
  const isDue = typeof due === 'string' && utcOf(due) === due;
  return isName(schedule) && isDue ? { schedule, due } : undefined;
}
