import { accountOf } from '../../agents/account.ts';
import { knownAgent } from '../../agents/agents.ts';
import { Holds, type Hold } from '../../state/holds.ts';
import type { Context } from '../context.ts';

/** An agent CLI that refuses to work on this machine, as `status` shows it. */
export interface HeldAgent extends Omit<Hold, 'login'> {
  /** The command with which an operator logs in. */
  login: string;
}

/** The holds in force; the next run finds out whether an expired one is over. */
export async function heldAgents({ paths, now }: Context): Promise<HeldAgent[]> {
  const holds = await new Holds(paths.holds).all();
  return holds
    .filter(({ until }) => Date.parse(until) > now().getTime())
    .map((hold) => ({ ...hold, login: knownAgent(hold.agent)?.login ?? hold.agent }));
}

/**
 * Allows one run for each held agent CLI to find out now whether it works again.
 *
 * @returns the holds that are tried
 */
export async function releaseHeld(context: Context): Promise<HeldAgent[]> {
  const released = await heldAgents(context);
  if (released.length === 0) return released;
  const file = new Holds(context.paths.holds);
  const until = context.now().toISOString();
  await file.save((await file.all()).map((hold) => ({ ...hold, until })));
  return released;
}

type Actors = readonly { name: string; tiers: readonly { cli: string }[] }[];

/** The actors of this machine whose messages wait for a held agent CLI. */
function waitingFor({ id }: HeldAgent, actors: Actors): string[] {
  const waiting = actors.filter(({ tiers }) => tiers.some(({ cli }) => accountOf(cli)?.id === id));
  return waiting.map(({ name }) => name);
}

/**
 * For each held agent CLI that an actor of this machine uses: what is held, why, and what to do, in
 * one line.
 *
 * @param actors undefined when they are not known, in which case all messages may wait
 */
export function heldProblems(
  holds: readonly HeldAgent[],
  actors: Actors | undefined,
): { hold: HeldAgent; problem: string }[] {
  return holds.flatMap((hold) => {
    const names = waitingFor(hold, actors ?? []);
    if (actors !== undefined && names.length === 0) return [];
    const mail = names.length === 0 ? 'mail waits' : `mail for ${names.join(', ')} waits`;
    return [{ hold, problem: describe(hold, mail) }];
  });
}

function describe({ id, reason, until, said, login }: HeldAgent, mail: string): string {
  return reason === 'rate_limited'
    ? `${id} is rate limited until ${until}, so ${mail} (it says: ${said}); it goes on automatically, or try now with: crosstalk resume`
    : `${id} is not logged in, so ${mail} (it says: ${said}); log in with: ${login}, and if it does not go on automatically: crosstalk resume`;
}
