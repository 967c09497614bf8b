import { endsByItself, reasonInWords, withoutSequences } from '../../protocol/text/words.ts';
import { BudgetHolds } from '../../state/bills/budget-holds.ts';
import { RunBudget } from '../../state/run-budget.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { Context } from '../context.ts';
import { act, wait, type Finding } from './finding.ts';

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

/** What to say of mail that a limit or a budget keeps waiting; of an account, its hold says it. */
export function parkedFinding(parked: Parked): Finding[] {
  const { actor, tier, reason, until, said = '' } = parked;
  if (reason === 'no_sandbox')
    return [act(`mail for ${actor} waits, because its tier ${tier} has a sandbox: ${said}`)];
  if (reason === 'budget' || reason === 'thread_budget') return [budgetFinding(parked)];
  return reason === 'max_runs_per_hour'
    ? [
        wait(
          `mail for ${actor} is parked until ${until}: its tier ${tier} has used up max_runs_per_hour; look for a loop, or raise it in the host file`,
        ),
      ]
    : [];
}

function budgetFinding({
  actor,
  reason,
  until,
  said = reasonInWords(reason),
  instead,
}: Parked): Finding {
  const command = `crosstalk resume --for ${actor}`;
  const why = withoutSequences(said);
  if (instead !== undefined)
    return wait(
      `${actor} runs on ${instead}${endsByItself(reason) ? ` until ${until}` : ''}: ${why}`,
    );
  return endsByItself(reason)
    ? wait(
        `mail for ${actor} waits until ${until}: ${why}; let it run now with: ${command}`,
        command,
      )
    : act(`mail for ${actor} waits: ${why}; let it run with: ${command}`, command);
}
