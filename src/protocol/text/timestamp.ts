/** As 6.0 writes it, whose times are all UTC: a blank for the `T`, and the `Z` left out. */
const UTC = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(Z|\+00:00)?$/;

/** A time with its `T` and its zone, as every reader of ISO 8601 takes it; undefined for what is none. */
export function utcOf(value: unknown): string | undefined {
  const found = typeof value === 'string' ? UTC.exec(value) : null;
  if (found === null) return undefined;
  const [, day = '', clock = '', zone = 'Z'] = found;
  const text = `${day}T${clock}${zone}`;
  return Number.isNaN(Date.parse(text)) ? undefined : text;
}
