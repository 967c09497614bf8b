import { CrosstalkError } from '../../errors.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';

/**
 * The file of a name among those of `local/schedules/` or `local/subscriptions/`.
 *
 * @throws CrosstalkError `not_found`, with the nearest name, or how to make one
 */
export function namedFile<File extends { name: string }>(
  files: readonly File[],
  kind: 'schedule' | 'subscription',
  name: string,
): File {
  const found = files.find((file) => file.name === name);
  if (found !== undefined) return found;
  const names = files.map((file) => file.name);
  const near = didYouMean(name, names);
  const known = near === '' ? `; see: crosstalk ${kind} list` : near;
  const next = names.length === 0 ? `; make one with: crosstalk ${kind} add ${shown(name)}` : known;
  throw new CrosstalkError('not_found', `no ${kind} ${shown(name)}${next}`);
}
