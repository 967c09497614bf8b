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

/** What ICU calls a zone that it does not know. */
const UNKNOWN = 'Etc/Unknown';
