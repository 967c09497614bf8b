import type { WebRunOutput } from '../../api/api.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { isRunId, Transcripts } from '../../state/transcripts/transcripts.ts';
import type { Context } from '../context.ts';
import { isUnderWay } from '../watching/watch.ts';

/**
 * Returns the output of a run of this machine, at most the part that its transcript contains (256 KiB).
 *
 * @param after the number of the last line that is known
 * @throws CrosstalkError `not_found` for a run of which nothing is known
 */
export async function runOutput(
  context: Context,
  id: string,
  after: number,
): Promise<WebRunOutput> {
  const isLive = isRunId(id) && (await isUnderWay(context, id));
  const reader = isRunId(id)
    ? new Transcripts(context.paths.transcripts).reader(id, after)
    : undefined;
  const lines = (await reader?.look()) ?? [];
  await reader?.close();
  if (reader?.head === undefined && !isLive)
    throw new CrosstalkError('not_found', `nothing is known here of a run ${shown(id)}`);
  const running = isLive && !lines.some(({ kind }) => kind === 'end');
  return { id, running, lines, last: lines.at(-1)?.n ?? after };
}
