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
