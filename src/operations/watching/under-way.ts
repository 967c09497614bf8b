import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';

/**
 * Whether a run is in progress: it is on record, and there is a dispatcher that handles it. Its record is
 * removed after the last line of its transcript was written.
 */
export async function isUnderWay(
  { paths, runs }: Pick<Context, 'paths' | 'runs'>,
  id: string,
): Promise<boolean> {
  return (await runs.has(id)) && (await holderOf(paths.root, 'dispatcher')) !== undefined;
}
