import { Cron } from 'croner';

/** Longest expression in characters; one that lists each second, minute and so on is shorter. */
const MAX_CHARACTERS = 400;

/** Returns the problem of an expression of 5 fields, or of 6 with seconds before them; undefined for a valid one. */
export function expressionProblem(expression: string): string | undefined {
  const fields = expression.split(/\s+/).filter((field) => field !== '');
  if (expression.length > MAX_CHARACTERS) return 'it is too long';
  if (fields.length !== 5 && fields.length !== 6)
    return fields.length === 1 ? 'it has 1 field' : `it has ${String(fields.length)} fields`;
  try {
    return cronOf(expression, 'UTC').nextRun() === null ? 'no day is like that' : undefined;
  } catch (error) {
    // croner calls itself for each month without such a day, and so for thousands of years.
    if (error instanceof RangeError && error.message.includes('call stack'))
      return 'no day is like that';
    const words = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : '';
    return words.slice(0, 100).replace(/[^\x20-\x7e]/g, '?');
  }
}

/** Whether a valid expression may be due more than once within a minute: its seconds are not one number. */
export function mayComeTwiceAMinute(expression: string): boolean {
  const fields = expression.trim().split(/\s+/);
  return fields.length === 6 && !/^\d+$/.test(fields[0] ?? '');
}

/**
 * Whether every time of day that a valid expression names is within a span of the day, which may go past
 * midnight: whatever its days are, it is never due outside.
 *
 * @param span in minutes since midnight
 */
export function isAlwaysWithin(expression: string, span: { from: number; until: number }): boolean {
  const times = expression.trim().split(/\s+/).slice(0, -3);
  const end = DAY_MS + span.until * MINUTE_MS;
  const next = cronOf(`${times.join(' ')} * * *`, 'UTC').nextRun(new Date(end - 1));
  const begin = end + ((span.from - span.until + DAY_MINUTES) % DAY_MINUTES) * MINUTE_MS;
  return next === null || next.getTime() >= begin;
}

const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

function cronOf(expression: string, timezone: string): Cron {
  return new Cron(expression, { timezone, paused: true, mode: 'auto' });
}

/**
 * The local times that an expression names, as moments. A local time that daylight saving skips stands for
 * the next one that exists, and one that comes twice is used once, the first time.
 */
export class Moments {
  readonly #cron: Cron;
  readonly #offset: (time: number) => number;

  constructor(expression: string, timezone: string) {
    this.#cron = cronOf(expression, timezone);
    this.#offset = offsetsIn(timezone);
  }

  /** Returns the first moment after a time, both in milliseconds since 1970; undefined if there is none. */
  after(time: number): number | undefined {
    for (let from = time; ;) {
      const next = this.#cron.nextRun(new Date(from))?.getTime();
      if (next === undefined) return undefined;
      const moment = this.#meant(next, time);
      if (moment > time) return moment;
      from = next;
    }
  }

  /**
   * Corrects a moment at a change of the clocks. Where the clock is put forward, croner moves the first skipped time by
   * as much, past others that exist: it should be the first moment after the change, unless the moved one is due
   * anyway. Where it is put back by less than an hour, croner finds the second occurrence of a time that comes twice.
   */
  #meant(next: number, time: number): number {
    const now = this.#offset(next);
    const before = this.#offset(next - GAP_MS);
    const first = next - Math.abs(now - before);
    if (before > now) return this.#offset(first) === before ? first : next;
    if (before === now || this.#offset(first) === now) return next;
    let [early, late] = [first, next];
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.#offset(middle) === now) late = middle;
      else early = middle;
    }
    if (!this.#cron.match(new Date(next))) return late;
    if (late > time && this.#cron.match(new Date(late))) return late;
    return Math.min(next, this.#cron.nextRun(new Date(Math.max(late, time)))?.getTime() ?? next);
  }
}

/** Milliseconds; more than any clock is put forward at once, and less than the time between two changes. */
const GAP_MS = 26 * 3_600_000;

/** Returns a function that computes the offset of a zone from UTC at a time, in milliseconds. */
export function offsetsIn(timezone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (time) => {
    const parts = new Map(
      format.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
    );
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (
      ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
    ).map((type) => parts.get(type));
    const local = Date.UTC(year, month - 1, day, hour, minute, second);
    return local - Math.floor(time / 1000) * 1000;
  };
}
