import { sessionIn } from '../../protocol/files/tier-session.ts';
import { relPathAt } from '../../protocol/names.ts';
import { threadRoot } from '../../protocol/thread.ts';
import type { Summed } from '../../state/bills/ledger-sums.ts';
import type { Context } from '../context.ts';
import { byTime, CHUNK, readFiles, type Arrival } from '../lookup/arrivals.ts';
import { newestFirst } from '../lookup/newest.ts';

/** The runs of other hosts, by the answers in which they tell what they used. */
export async function runsOfOthers(
  context: Context,
  tip: string,
  since: Date,
  own: ReadonlySet<string>,
): Promise<Summed[]> {
  const channels = (await context.reader.channels(tip)).map(({ id }) => id);
  const least = relPathAt(since, '').replace(/Z-.*/, '');
  const found: Arrival[] = [];
  for await (const files of newestFirst(context, tip, channels, least))
    for (let at = 0; at < files.length; at += CHUNK)
      found.push(...(await readFiles(context, files.slice(at, at + CHUNK))));
  found.sort(byTime);
  const known = new Map(found.map(({ relPath, message }) => [relPath, message]));
  return found.flatMap(({ relPath, channel, message }): Summed[] => {
    const { usage, host, from, timestamp, tier = 'default', extra } = message;
    const session = sessionIn(extra['session']);
    if (usage === undefined || host === undefined || own.has(host)) return [];
    const root = threadRoot([{ relPath, message }], (ref) => known.get(ref));
    const thread = { channel, relPath: root };
    const { ms, ...used } = usage;
    const at = timestamp.slice(0, 10);
    const of = { at, actor: from, host, channel, tier, thread };
    return [{ ...of, ...(session && { session }), ended: 'answered', ms, usage: used }];
  });
}
