import { startedBy } from '../../protocol/automation/firing.ts';
import type { Group } from '../../state/bills/ledger-sums.ts';
import type { Context } from '../context.ts';

/** The groups that are shown, from those that are kept. */
export async function regrouped(
  context: Context,
  by: string,
  tip: string,
  groups: Group[],
): Promise<Group[]> {
  if (by === 'schedule') return bySchedule(context, tip, groups);
  if (by === 'skill' || by === 'subscription')
    return groups.map(({ common: [name = ''], days }) => ({
      common: [name === '' ? `(no ${by})` : name],
      days,
    }));
  return by === 'day' ? groups.flatMap(byItsDays) : groups;
}

/** A group for each day, with the day in common. */
function byItsDays({ days }: Group): Group[] {
  return days.map((sum) => ({ common: [sum.day], days: [sum] }));
}

/** What runs are counted as whose thread was begun by no schedule. */
const NO_SCHEDULE = '(no schedule)';

/**
 * Puts the runs of threads together by the schedule whose message began the thread, as that message says.
 * A thread that is archived, or was never on the bus, counts as begun by none.
 *
 * @param threads what they have in common is a channel and the first message of a thread
 * @returns groups that have the name of a schedule in common
 */
async function bySchedule(
  { reader }: Context,
  tip: string,
  threads: readonly Group[],
): Promise<Group[]> {
  const channels = new Map<string, Group[]>();
  for (const group of threads) {
    const [channel = ''] = group.common;
    const known = channels.get(channel);
    if (known === undefined) channels.set(channel, [group]);
    else known.push(group);
  }
  const groups: Group[] = [];
  for (const [channel, some] of channels) {
    const firsts = [...new Set(some.map(({ common: [, first = ''] }) => first))];
    const messages = await reader.messages(tip, channel, firsts);
    const names = new Map(
      messages.map(({ relPath, message }) => [relPath, startedBy(message)?.schedule]),
    );
    for (const { common, days } of some)
      groups.push({ common: [names.get(common[1] ?? '') ?? NO_SCHEDULE], days });
  }
  return groups;
}
