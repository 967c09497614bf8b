import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { parseSince } from '../../protocol/text/since.ts';
import { text, type Call } from './command.ts';

/** The time that `--since` names, if the option was given. @throws CrosstalkError `usage` */
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
