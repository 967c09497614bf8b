/** Returns a duration as `12 s`, `5 min`, `3 h` or `2 d`. */
export function ageOf(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${String(whole)} s`;
  if (whole < 7200) return `${String(Math.round(whole / 60))} min`;
  return whole < 172_800
    ? `${String(Math.round(whole / 3600))} h`
    : `${String(Math.round(whole / 86_400))} d`;
}

/**
 * Seconds between an ISO time and `now`, which is in milliseconds; 0 for a time that cannot be
 * read.
 */
export function secondsSince(at: string, now: number): number {
  const then = Date.parse(at);
  return Number.isNaN(then) ? 0 : Math.max(0, (now - then) / 1000);
}

/** Words how long ago another machine did something, in minutes at least, as clocks differ. @param time ISO 8601 */
export function ago(time: string, now: Date): string {
  const seconds = secondsSince(time, now.getTime());
  return seconds < 120 ? `${String(Math.max(1, Math.round(seconds / 60)))} min` : ageOf(seconds);
}

/** Returns a time in the zone of the reader, in digits alone: `2026-06-09 21:00:00`. */
export function localTime(at: Date): string {
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
}

/** Returns the same as short as `now` allows: `21:00`, `06-09 21:00`, or `2025-06-09`. Both in milliseconds. */
export function shortTime(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)];
  const [date = '', time = ''] = localTime(then).split(' ');
  if (then.toDateString() === today.toDateString()) return time.slice(0, 5);
  const isThisYear = then.getFullYear() === today.getFullYear();
  return isThisYear ? `${date.slice(5)} ${time.slice(0, 5)}` : date;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Returns a text in which every time of ISO 8601 is one of the reader's zone. @param format how it is written */
export function localTimes(
  text: string,
  format: (time: string) => string = (time) => localTime(new Date(time)),
): string {
  return text.replace(
    /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d\b)/g,
    (time) => (Number.isNaN(Date.parse(time)) ? time : format(time)),
  );
}

/** The forms in which a browser writes times in the reader's language. */
const FORMS = {
  clock: { hour: '2-digit', minute: '2-digit' },
  day: { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
  short: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  whole: { dateStyle: 'medium', timeStyle: 'long' },
} as const;
/** Made when they are used first, which takes milliseconds. */
const formats = new Map<keyof typeof FORMS, Intl.DateTimeFormat>();

/** Returns the time of day, in the reader's time zone. */
export function clockOf(at: string | number): string {
  return formatted('clock', at);
}

export function dayOf(at: string | number): string {
  return formatted('day', at);
}

/** Returns the time of day, with its day unless that is `today`, which is in milliseconds. */
export function momentOf(at: string | number, today = Date.now()): string {
  return formatted(dayOf(at) === dayOf(today) ? 'clock' : 'short', at);
}

/** Returns the complete time, for a tooltip. */
export function wholeTimeOf(at: string | number): string {
  return formatted('whole', at);
}

function formatted(form: keyof typeof FORMS, at: string | number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const format = formats.get(form) ?? new Intl.DateTimeFormat(undefined, FORMS[form]);
  formats.set(form, format);
  return format.format(date);
}
