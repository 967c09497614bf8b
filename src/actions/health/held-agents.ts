import { accountOf, knownAgent } from '../../agents/agents.ts';
import { tiersFrom } from '../../protocol/files/tier-fallback.ts';
import { Holds, type Hold } from '../../state/holds.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { Context } from '../context.ts';
import { heldAccount, onAnotherTier } from '../../present/findings.ts';

/** An agent CLI that refuses to work on this machine, as `status` shows it. */
export interface HeldAgent extends Omit<Hold, 'login'> {
  /** The command with which an operator logs in. */
  login: string;
}

/** Returns those of some holds that are in force; the next run finds out whether an expired one is over. */
export function heldAgents(holds: readonly Hold[], now: number): HeldAgent[] {
  return holds
    .filter(({ until }) => Date.parse(until) > now)
    .map((hold) => ({ ...hold, login: knownAgent(hold.agent)?.login ?? hold.agent }));
}

/**
 * Allows one run for each held agent CLI to find out now whether it works again.
 *
 * @returns the holds that are tried
 */
export async function releaseHeld(context: Context): Promise<HeldAgent[]> {
  const [holds, now] = [new Holds(context.paths.root), context.now()];
  const released = heldAgents(await holds.all(), now.getTime());
  if (released.length === 0) return released;
  const until = now.toISOString();
  await holds.write((rows) => {
    for (const hold of rows.all()) rows.put({ ...hold, until });
  });
  return released;
}

type Tiers = readonly { name: string; cli: string; fallback?: readonly string[] }[];
type Actors = readonly { name: string; tiers: Tiers }[];

/**
 * Reports each held agent CLI that an actor of this machine uses: the mail, the reason and the remedy, in one line;
 * and one line for each actor that another tier serves meanwhile.
 *
 * @param actors undefined when they are not known, in which case all messages may wait
 * @param parked the dispatcher's report on tiers whose mail waits: one whose budget is spent takes none
 */
export function heldProblems(
  holds: readonly HeldAgent[],
  actors: Actors | undefined,
  parked: Heartbeat['parked'] = [],
): { hold: HeldAgent; problem: string }[] {
  if (actors === undefined)
    return holds.map((hold) => ({ hold, problem: heldAccount(hold, 'mail waits') }));
  const held = new Set(holds.map(({ id }) => id));
  const isSpent = (actor: string, { name }: Tiers[number]): boolean =>
    parked.some((one) => one.reason === 'budget' && one.actor === actor && one.tier === name);
  return holds.flatMap((hold) => {
    const concerned = actors.flatMap(({ name, tiers }) => {
      const tier = tiers.find(({ cli }) => accountOf(cli)?.id === hold.id);
      if (tier === undefined) return [];
      const free = tiers.filter((one) => !isSpent(name, one));
      return [{ name, instead: freeTier(tiers, tier, held, free) }];
    });
    const waiting = concerned.filter(({ instead }) => instead === undefined);
    const names = waiting.map(({ name }) => name).join(', ');
    const elsewhere = concerned.flatMap(({ name, instead }) =>
      instead === undefined ? [] : [{ hold, problem: onAnotherTier(hold, name, instead) }],
    );
    const problem = heldAccount(hold, `mail for ${names} waits`);
    return [...(waiting.length === 0 ? [] : [{ hold, problem }]), ...elsewhere];
  });
}

/** Returns the tier that takes the mail of a held one. */
function freeTier(
  tiers: Tiers,
  tier: Tiers[number],
  held: ReadonlySet<string>,
  unspent: Tiers,
): string | undefined {
  const order = tiersFrom(tiers, tier).filter((one) => unspent.includes(one));
  return order.find(({ cli }) => !held.has(accountOf(cli)?.id ?? ''))?.name;
}
