import { realpathSync } from 'node:fs';
import { isZone } from '../protocol/text/times.ts';

/** A zone of POSIX that is always as far from UTC, such as `EST5` or `<+03>-3`. */
const FIXED = /^(?:<[A-Za-z0-9+-]{3,}>|[A-Za-z]{3,})([+-]?)(\d{1,2})(?::?00)*$/;

/**
 * The time zone of this machine as an IANA name; undefined where its setting names none, as a rule of POSIX
 * with two times of the year does: Node reads that as UTC, and says so nowhere.
 *
 * @param tz the variable TZ, as in tzset(3): empty for UTC
 */
export function machineZone(tz = process.env['TZ']): string | undefined {
  if (tz === undefined) return known(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const name = tz.replace(/^:/, '');
  if (name === '') return 'UTC';
  if (name.startsWith('/')) return inFile(name);
  if (isZone(name)) return name;
  const [, sign = '', hours = ''] = FIXED.exec(name) ?? [];
  if (hours === '') return undefined;
  // Both count what lies behind UTC as positive.
  return Number(hours) === 0 ? 'UTC' : known(`Etc/GMT${sign || '+'}${String(Number(hours))}`);
}

/** What is wrong where {@link machineZone} knows none. */
export function noZone(tz = process.env['TZ']): string {
  const setting = tz === undefined ? 'of this machine' : `TZ=${tz}`;
  return `the time zone ${setting} is no name such as Europe/Berlin`;
}

function inFile(path: string): string | undefined {
  try {
    return known(/\/zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(realpathSync(path))?.[1]);
  } catch {
    return undefined;
  }
}

function known(zone: string | undefined): string | undefined {
  return isZone(zone) ? zone : undefined;
}
