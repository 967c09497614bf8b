import { accountOf } from '../protocol/agent-command.ts';
import { knownAgent } from '../protocol/agents.ts';
import { Holds, type Hold } from '../state/holds.ts';
import type { Context } from './context.ts';

/** An agent CLI that refuses to work on this machine, as `status` shows it. */
export interface HeldAgent extends Omit<Hold, 'login'> {
  /** What an operator types to log in. */
  login: string;
}

/** The holds in force; one that is over is found out about by the next run. */
export async function heldAgents({ paths, now }: Context): Promise<HeldAgent[]> {
  const holds = await new Holds(paths.holds).all();
  return holds
    .filter(({ until }) => Date.parse(until) > now().getTime())
    .map((hold) => ({ ...hold, login: knownAgent(hold.agent)?.login ?? hold.agent }));
}

/**
 * Lets one run for each held agent CLI find out now whether it works again.
 *
 * @returns those that are tried
 */
export async function releaseHeld(context: Context): Promise<HeldAgent[]> {
  const released = await heldAgents(context);
  if (released.length === 0) return released;
  const file = new Holds(context.paths.holds);
  const until = context.now().toISOString();
  await file.save((await file.all()).map((hold) => ({ ...hold, until })));
  return released;
}

/**
 * What is held, why, and what to do, in one line.
 *
 * @param actors the actors of this machine and their commands
 */
export function describeHeld(
  { id, reason, until, said, login }: HeldAgent,
  actors: readonly { name: string; tiers: readonly { cli: string }[] }[],
): string {
  const concerned = actors.filter(({ tiers }) =>
    tiers.some(({ cli }) => accountOf(cli)?.id === id),
  );
  const names = concerned.map(({ name }) => name).join(', ');
  const mail = names === '' ? 'mail waits' : `mail for ${names} waits`;
  return reason === 'rate_limited'
    ? `${id} is rate limited until ${until}, so ${mail} (it says: ${said}); it goes on by itself, or try now with: crosstalk resume`
    : `${id} is not logged in, so ${mail} (it says: ${said}); log in with: ${login}, and if it does not go on by itself: crosstalk resume`;
}
