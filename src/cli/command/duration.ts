import { CrosstalkError } from '../../errors.ts';
import { parseDuration } from '../../protocol/text/duration.ts';
import { shown } from '../../protocol/text/result.ts';
import { text, type Call } from './command.ts';

/** What an option that takes a length of time allows. */
interface Limits {
  /** The value where the option is absent, as a user would write it. */
  fallback: string;
  /** Milliseconds. */
  least: number;
  most: number;
}

/**
 * The milliseconds of an option that takes a length of time: seconds, or a number with its unit.
 *
 * @throws CrosstalkError `usage` for anything else, and for what is out of bounds
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
