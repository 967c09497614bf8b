import { ledBy } from '../../protocol/automation/follow-up.ts';
import { sessionIn } from '../../protocol/files/tier-session.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { threadRoot } from '../../protocol/thread.ts';
import type { Summed } from '../../state/bills/ledger-sums.ts';
import type { Arrival } from '../lookup/arrivals.ts';

/**
 * The runs of other hosts, by the answers in which they tell what they used. Which skills their prompts told is not
 * on the bus: a skill that is there counts as told where it was asked for.
 *
 * @param found messages in the order of time, the answers and what they answer
 * @param own the aliases of this machine, whose runs are in its ledger
 * @param skills the names of those that are there
 */
export function runsIn(
  found: readonly Arrival[],
  own: ReadonlySet<string>,
  skills: ReadonlySet<string>,
): Summed[] {
  const known = new Map(found.map(({ relPath, message }) => [relPath, message]));
  const lookup = (ref: string): Arrival['message'] | undefined => known.get(ref);
  return found.flatMap(({ relPath, channel, message }): Summed[] => {
    const { usage, host, from, timestamp, tier = 'default', extra } = message;
    const session = sessionIn(extra['session']);
    if (usage === undefined || host === undefined || own.has(host)) return [];
    const subscription = ledBy([{ relPath, message }], lookup);
    const asked = message.re.flatMap((ref) => skillAskedFor(lookup(ref)?.body ?? '') ?? []);
    const told = [...new Set(asked)].filter((name) => skills.has(name)).sort();
    const { ms, ...used } = usage;
    return [
      {
        ...{ at: timestamp.slice(0, 10), actor: from, host, channel, tier, ended: 'answered', ms },
        thread: { channel, relPath: threadRoot([{ relPath, message }], lookup) },
        usage: used,
        ...(subscription !== undefined && { subscription }),
        ...(session && { session }),
        ...(told.length > 0 && { skills: told }),
      },
    ];
  });
}
