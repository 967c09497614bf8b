const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const REL_PATH = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{9})Z-([0-9a-fA-F]{8,64})\.md$/;

/** Whether a text is the logical name of an actor or operator without a tier, or a host's alias (protocol.md §2). */
export function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/**
 * Whether a message may name this as its sender or addressee: a name, or words such as a person's
 * name, which plain 6.0 writes. Such a text is never part of a path.
 */
export function isSender(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > 64) return false;
  // The form of 6.0: words separated by single blanks, in any script. Most are plain names, and only the
  // tables of all scripts take time to load.
  return (
    NAME.test(text) || /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]*(?: [\p{L}\p{M}\p{N}._-]+)*$/u.test(text)
  );
}

/** Whether a text is a channel id: a UUID, in the spelling of its folder's name (protocol.md §2). */
export function isChannelId(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text);
}

/** Whether a text is a message's path inside its channel folder: `YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`. */
export function isRelPath(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 96 && REL_PATH.test(text);
}

/**
 * Returns the relPath of a message written at the time `at`.
 *
 * @param suffix at least 8 lower-case hex digits from a CSPRNG
 */
export function relPathAt(at: Date, suffix: string): string {
  const [date = '', time = ''] = at.toISOString().split('T');
  return `${date.replaceAll('-', '/')}/${time.replace(/[:.Z]/g, '')}Z-${suffix}.md`;
}

/** Returns the time in a message's path, as ISO 8601 in UTC; null if it has none. */
export function writtenAt(relPath: string): string | null {
  const digits = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})(\d{2})(\d{2})(\d{3})/.exec(relPath);
  if (digits === null) return null;
  const [, year = '', month = '', day = '', ...clock] = digits;
  const [hours = '', minutes = '', seconds = '', ms = ''] = clock;
  const iso = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${ms}Z`;
  // Not every sequence of digits is a valid time.
  return Number.isNaN(Date.parse(iso)) ? null : iso;
}

/** Returns the hex suffix of a relPath, by which a message may be named if it is unique (cli.md). */
export function suffixOf(relPath: string): string {
  return REL_PATH.exec(relPath)?.[5] ?? '';
}

/** Returns the day folder of a relPath, `YYYY/MM/DD`. */
function dayOf(relPath: string): string {
  return relPath.slice(0, 10);
}

/** Turns free text into a valid name; undefined when no part of it can be used. */
export function toName(text: string): string | undefined {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64);
  return isName(name) ? name : undefined;
}

/** Returns the day before that of a relPath, `YYYY/MM/DD`. */
export function dayBefore(relPath: string): string {
  const day = new Date(`${dayOf(relPath).replaceAll('/', '-')}T00:00:00Z`);
  if (Number.isNaN(day.getTime())) return dayOf(relPath);
  day.setUTCDate(day.getUTCDate() - 1);
  return day.toISOString().slice(0, 10).replaceAll('-', '/');
}
