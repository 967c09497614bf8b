import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { text, type Call } from './command.ts';

const DEFAULT_LIMIT = '20';

/** How many messages are shown: the value of `--limit`. @throws CrosstalkError `usage` */
export function limitOf(call: Call): number {
  const given = text(call, 'limit') ?? DEFAULT_LIMIT;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new CrosstalkError(
    'usage',
    `--limit is ${shown(given)}, expected how many messages; try --limit ${DEFAULT_LIMIT}`,
  );
}
