import { BudgetHolds } from '../../state/bills/budget-holds.ts';
import { RunBudget } from '../../state/run-budget.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { Context } from '../context.ts';

type Parked = Heartbeat['parked'][number];

/**
 * The tiers whose mail waits by what is on record: for a budget, each once, or for the hour to be over.
 *
 * @param tiers the tiers in force, by actor
 */
export async function parkedOnRecord(
  { paths, now }: Pick<Context, 'paths' | 'now'>,
  tiers: ReadonlyMap<string, readonly Tier[]>,
): Promise<Parked[]> {
  const { held } = await new BudgetHolds(paths.root).load();
  const due = held.filter(({ until }) => until > now().toISOString());
  const found = due.map(({ actor, tier, reason, until, said }) => ({
    ...{ actor, tier, reason, until, said },
  }));
  const runs = new RunBudget(paths.root);
  const spent: Parked[] = [];
  for (const [actor, all] of tiers)
    for (const { name: tier, maxRunsPerHour } of all) {
      const next = await runs.nextStart(actor, tier, maxRunsPerHour, now().getTime());
      if (next !== undefined)
        spent.push({ actor, tier, reason: 'max_runs_per_hour', until: next.toISOString() });
    }
  const once = new Map(found.map((one) => [`${one.actor} ${one.tier} ${one.said}`, one]));
  return [...once.values(), ...spent];
}
