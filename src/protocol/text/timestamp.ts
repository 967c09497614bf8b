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
 * A time in any form that `Date.parse` accepts, as ISO 8601 in UTC; undefined for any other value. What it accepts includes
 * comments in parentheses with line breaks in them, so the text itself is not passed on.
 */
export function isoOf(value: unknown): string | undefined {
  const at = typeof value === 'string' ? new Date(value) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
