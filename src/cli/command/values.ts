import { CrosstalkError } from '../../errors.ts';
import { parseDuration, parseSince } from '../../protocol/text/times.ts';
import { shown } from '../../protocol/text/result.ts';
import { text, type Call } from './command.ts';

/** Limits of an option that takes a length of time. */
interface Limits {
  /** The value where the option is absent, as a user would write it. */
  fallback: string;
  /** Milliseconds. */
  least: number;
  most: number;
}

/**
 * Returns the milliseconds of an option that takes a length of time: seconds, or a number with its unit.
 *
 * @throws CrosstalkError `usage` for anything else, and for a value out of bounds
 */
export function durationOf(call: Call, name: string, { fallback, least, most }: Limits): number {
  const given = text(call, name) ?? fallback;
  const found = parseDuration(given);
  if (found !== undefined && found >= least && found <= most) return found;
  throw new CrosstalkError(
    'usage',
    `--${name} is ${shown(given)}, expected seconds, or a time such as 10s, 5m or 2h, from ${spoken(least)} to ${spoken(most)}; try --${name} ${fallback}`,
  );
}

function spoken(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${String(ms / 3_600_000)}h`;
  return ms % 1000 === 0 ? `${String(ms / 1000)}s` : `${String(ms)}ms`;
}

/** Returns the time that `--since` names, if the option was given. @throws CrosstalkError `usage` */
export function sinceOf(call: Call): { since?: Date } {
  const given = text(call, 'since');
  if (given === undefined) return {};
  const since = parseSince(given, new Date());
  if (since !== undefined) return { since };
  throw new CrosstalkError(
    'usage',
    `--since is ${shown(given)}, expected a date, a date and time, today, or how long ago; try --since 2h`,
  );
}

const DEFAULT_LIMIT = '20';

/** Returns the number of messages to show: the value of `--limit`. @throws CrosstalkError `usage` */
export function limitOf(call: Call): number {
  const given = text(call, 'limit') ?? DEFAULT_LIMIT;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new CrosstalkError(
    'usage',
    `--limit is ${shown(given)}, expected how many messages; try --limit ${DEFAULT_LIMIT}`,
  );
}
