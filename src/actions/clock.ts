import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import type { Clock } from '../clock.ts';
import { randomOfSystem } from '../random.ts';
import { realpathSync } from 'node:fs';
import { isZone } from '../protocol/text/times.ts';

/** Number of random characters in a ULID, each from one number from 0 to 1. */
const ULID_CHARACTERS = 16;

/** The clock and the random numbers of this machine, which are created only here. */
const REAL: Clock = {
  now: () => new Date(),
  random: Math.random,
  newId: () => {
    const bytes = randomOfSystem(ULID_CHARACTERS).values();
    return ulid(undefined, () => (bytes.next().value ?? 0) / 256);
  },
  uuid: () => randomUUID(),
  suffix: () => randomOfSystem(6).toString('hex'),
  secret: (bytes) => randomOfSystem(bytes).toString('hex'),
};

/** Returns the clock of a command: that of its surroundings, else that of this machine. */
export function clockOf({ clock = REAL }: { clock?: Clock }): Clock {
  return clock;
}

/** Pattern of a POSIX zone with a constant offset from UTC, such as `EST5` or `<+03>-3`. */
const FIXED = /^(?:<[A-Za-z0-9+-]{3,}>|[A-Za-z]{3,})([+-]?)(\d{1,2})(?::?00)*$/;

/**
 * Returns the time zone of this machine as an IANA name; undefined when its setting names none, such as a
 * POSIX rule with daylight saving time: Node treats that as UTC, without any warning.
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
  // Both count offsets behind UTC as positive.
  return Number(hours) === 0 ? 'UTC' : known(`Etc/GMT${sign || '+'}${String(Number(hours))}`);
}

/** Describes the problem when {@link machineZone} returns none. */
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
