/** Longest time that a timer can wait, in milliseconds. */
export const MAX_MS = 2 ** 31 - 1;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DURATION = /^(\d{1,9}(?:\.\d{1,6})?)(ms|[smhdw])?$/;

/**
 * Formats a duration as people write it, the largest unit first: `5m`, `1h30m`, `250ms`.
 *
 * @param ms whole milliseconds
 */
export function durationText(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [unit, each] of Object.entries(UNITS).toSorted(([, a], [, b]) => b - a)) {
    const count = Math.floor(left / each);
    left -= count * each;
    if (count > 0) parts.push(`${String(count)}${unit}`);
  }
  return parts.length === 0 ? '0s' : parts.join('');
}

/**
 * Parses a duration as people write it: `90` or `90s` for seconds, `500ms`, `5m`, `2h`, `3d`, `1w`; and in parts, the
 * largest first, `1h30m`.
 *
 * @returns milliseconds; undefined for any other text
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = DURATION.exec(text) ?? [];
  if (count !== undefined) return Number(count) * (UNITS[unit] ?? 0);
  let total = 0;
  let last = Infinity;
  const parts = /^(?:\d{1,9}(?:ms|[smhdw])){2,6}$/.test(text)
    ? text.matchAll(/(\d{1,9})(ms|[smhdw])/g)
    : [];
  for (const [, part = '', of = ''] of parts) {
    const each = UNITS[of] ?? 0;
    if (each >= last) return undefined;
    last = each;
    total += Number(part) * each;
  }
  return last === Infinity ? undefined : total;
}

const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time as people write it: `2026-06-09`, `2026-06-09T19:00` (local time unless it has a
 * zone), `90m`, `2h`, `3d` or `1w` ago, `today`, `yesterday`.
 *
 * @returns undefined for any other text
 */
export function parseSince(text: string, now: Date): Date | undefined {
  const ago = /^\d+$/.test(text) ? undefined : parseDuration(text);
  if (ago !== undefined) return new Date(now.getTime() - ago);
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  if (text === 'today') return midnight;
  if (text === 'yesterday') {
    midnight.setDate(midnight.getDate() - 1);
    return midnight;
  }
  if (!MOMENT.test(text)) return undefined;
  // A date without a time would be read as UTC.
  const moment = new Date(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T'));
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** A time as 6.0 writes it, always in UTC: with a blank instead of the `T`, and without the `Z`. */
const UTC = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(Z|\+00:00)?$/;

/**
 * Completes a time with its `T` and its zone, as every parser of ISO 8601 expects; undefined for
 * any other value.
 */
export function utcOf(value: unknown): string | undefined {
  const found = typeof value === 'string' ? UTC.exec(value) : null;
  if (found === null) return undefined;
  const [, day = '', clock = '', zone = 'Z'] = found;
  const text = `${day}T${clock}${zone}`;
  return Number.isNaN(Date.parse(text)) ? undefined : text;
}

/**
 * Converts a time in any form that `Date.parse` accepts into ISO 8601 in UTC; undefined for any other value.
 * These forms include comments in parentheses with line breaks in them, so the text itself is not passed on.
 */
export function isoOf(value: unknown): string | undefined {
  const at = typeof value === 'string' ? new Date(value) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** Whether a text is the name of a time zone that this Node knows, such as `Europe/Berlin`. */
export function isZone(value: unknown): value is string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9/_+-]{1,64}$/.test(value)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: value }).resolvedOptions();
    return timeZone !== '' && timeZone !== UNKNOWN;
  } catch {
    return false;
  }
}

/** ICU's name of a zone that it does not know. */
const UNKNOWN = 'Etc/Unknown';
