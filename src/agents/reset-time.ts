import { isZone } from '../protocol/text/times.ts';

/** Longest hold, whatever time a CLI reports: 7 days. */
export const LONGEST_MS = 7 * 24 * 3_600_000;
/** Milliseconds since which a clock time means "now", because clocks differ and CLIs omit the seconds. */
const JUST_PASSED_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;

/**
 * Parses the time at which a CLI reports that it will work again: an ISO time, seconds since the epoch, a duration
 * ("try again in 5 minutes 30s", "retry-after: 60"), or a clock time with or without date and zone ("resets Nov 24, 3pm
 * (Europe/Berlin)"). At most {@link LONGEST_MS} away; undefined when no time is reported, or one that has passed.
 *
 * @param zone the IANA time zone of clock times without a zone
 */
export function statedTime(text: string, now: Date, zone: string): Date | undefined {
  const stated = (absolute(text) ?? relative(text, now) ?? onTheClock(text, now, zone))?.getTime();
  if (stated === undefined || Number.isNaN(stated) || stated < now.getTime() - JUST_PASSED_MS)
    return undefined;
  return new Date(Math.max(now.getTime(), Math.min(stated, now.getTime() + LONGEST_MS)));
}

function absolute(text: string): Date | undefined {
  const iso = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)/.exec(text);
  if (iso !== null) return new Date(iso[0]);
  const epoch = /(?:\||\bresets?(?:[ _]at)?["']?[:= ] ?)(\d{10})(\d{3})?(?!\d)/.exec(text);
  if (epoch === null) return undefined;
  return new Date(Number(`${epoch[1] ?? ''}${epoch[2] ?? '000'}`));
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
};
const PART =
  /^[ ,]*(?:and )?(\d{1,9}(?:\.\d{1,12})?) ?(ms|milliseconds?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z])/i;
const BEFORE_DURATION =
  /\b(?:again in|resets? (?:in|after)|retry (?:in|after)|retry-after|retryDelay|quotaResetDelay|resets_in_seconds|wait)["']?[:= ]{1,2}["']?/gi;
/** Words after which a number without a unit means seconds. */
const COUNTS_SECONDS = /after|seconds/i;

function relative(text: string, now: Date): Date | undefined {
  for (const before of text.matchAll(BEFORE_DURATION)) {
    let rest = text.slice(before.index + before[0].length);
    const alone = COUNTS_SECONDS.test(before[0]) && /^(\d{1,9})(?![\d a-z]|\.\d)/i.exec(rest);
    if (alone) return new Date(now.getTime() + Number(alone[1]) * 1000);
    let total: number | undefined;
    for (let part = PART.exec(rest); part !== null; part = PART.exec(rest)) {
      total = (total ?? 0) + Number(part[1]) * (UNIT_MS[unitOf(part[2] ?? '')] ?? 0);
      rest = rest.slice(part[0].length);
    }
    if (total !== undefined) return new Date(now.getTime() + total);
  }
  return undefined;
}

function unitOf(word: string): string {
  return /^(ms|milli)/i.test(word) ? 'ms' : word.slice(0, 1).toLowerCase();
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const ON_THE_CLOCK = new RegExp(
  [
    String.raw`\b(?:resets?|again|until)(?: at| on)? `,
    String.raw`(?:(?<month>${MONTHS.join('|')})[a-z]{0,6}\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?,? ?`,
    String.raw`|(?<weekday>${WEEKDAYS.join('|')})[a-z]{0,6},? )?`,
    String.raw`(?:at )?(?:(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?::\d\d)? ?(?<half>[ap])\.?m\b|(?<hour24>\d{1,2}):(?<minute24>\d\d))?`,
    String.raw`(?: \((?<zone>[A-Za-z0-9_+/-]{1,40})\)| (?<utc>UTC|GMT)\b)?`,
  ].join(''),
  'i',
);

function onTheClock(text: string, now: Date, zone: string): Date | undefined {
  const found = ON_THE_CLOCK.exec(text)?.groups;
  if (found === undefined) return undefined;
  const time = timeOfDay(found);
  if (time === undefined) return undefined;
  const named = found['utc'] === undefined ? found['zone'] : 'UTC';
  const there = named !== undefined && isZone(named) ? named : isZone(zone) ? zone : 'UTC';
  const today = wallClock(now, there);
  const on = (year: number, month: number, day: number): Date =>
    instantOf(Date.UTC(year, month, day, time.hour, time.minute), there);
  if (found['month'] !== undefined) {
    const month = MONTHS.indexOf(found['month'].toLowerCase());
    const day = Number(found['day']);
    if (found['year'] !== undefined) return on(Number(found['year']), month, day);
    const thisYear = on(today.year, month, day);
    // In December, a date in January means next year.
    return now.getTime() - thisYear.getTime() > 180 * DAY_MS
      ? on(today.year + 1, month, day)
      : thisYear;
  }
  if (found['hour'] === undefined && found['hour24'] === undefined) return undefined;
  const weekday = WEEKDAYS.indexOf((found['weekday'] ?? '').toLowerCase());
  const ahead = weekday < 0 ? 0 : (weekday - today.weekday + 7) % 7;
  const next = on(today.year, today.month, today.day + ahead);
  if (next.getTime() >= now.getTime() - JUST_PASSED_MS) return next;
  return on(today.year, today.month, today.day + ahead + (weekday < 0 ? 1 : 7));
}

/** Returns the time of day: midnight when only a day is reported; undefined when the numbers are not a valid time. */
function timeOfDay(
  found: Record<string, string | undefined>,
): { hour: number; minute: number } | undefined {
  const hour = Number(found['hour'] ?? found['hour24'] ?? 0);
  const minute = Number(found['minute'] ?? found['minute24'] ?? 0);
  const half = found['half']?.toLowerCase();
  if (minute > 59 || hour > (half === undefined ? 23 : 12)) return undefined;
  if (half === undefined) return { hour, minute };
  return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute };
}

interface Wall {
  year: number;
  /** January is 0. */
  month: number;
  day: number;
  weekday: number;
  /** The local clock time, as if it were UTC, in milliseconds. */
  asUtc: number;
}

function wallClock(at: Date, zone: string): Wall {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const [year, month, day] = [part('year'), part('month') - 1, part('day')];
  const asUtc = Date.UTC(year, month, day, part('hour'), part('minute'), part('second'));
  return { year, month, day, weekday: new Date(asUtc).getUTCDay(), asUtc };
}

/** Returns the instant at which a clock in the zone shows a local time, which is given as if it were UTC. */
function instantOf(shown: number, zone: string): Date {
  const offsetAt = (at: number): number => wallClock(new Date(at), zone).asUtc - at;
  const guess = shown - offsetAt(shown);
  // Computed twice, because the clocks may change between the guess and the result.
  return new Date(shown - offsetAt(guess));
}
