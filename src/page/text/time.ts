/** A number of seconds in a readable form: `12 s`, `5 min`, `3 h`, `2 d`. */
export function ageOf(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${String(whole)} s`;
  if (whole < 120 * 60) return `${String(Math.round(whole / 60))} min`;
  if (whole < 48 * 3600) return `${String(Math.round(whole / 3600))} h`;
  return `${String(Math.round(whole / 86_400))} d`;
}

/**
 * Seconds between an ISO time and `now`, which is in milliseconds; 0 for a time that cannot be
 * read.
 */
export function secondsSince(at: string, now: number): number {
  const then = Date.parse(at);
  return Number.isNaN(then) ? 0 : Math.max(0, (now - then) / 1000);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** The time of day, in the reader's time zone. */
export function clockOf(at: string | number): string {
  return formatted(clock, at);
}

export function dayOf(at: string | number): string {
  return formatted(day, at);
}

const short = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** The time of day, with its day unless that is `today`, which is in milliseconds. */
export function momentOf(at: string | number, today = Date.now()): string {
  return dayOf(at) === dayOf(today) ? clockOf(at) : formatted(short, at);
}

const MOMENT = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z/g;

/** A text of the server in which the times are those of the reader's time zone. */
export function withLocalTimes(text: string): string {
  return text.replace(MOMENT, (at) => momentOf(at));
}

/** The complete time, for a tooltip. */
export function wholeTimeOf(at: string | number): string {
  return formatted(full, at);
}

function formatted(format: Intl.DateTimeFormat, at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : format.format(date);
}
