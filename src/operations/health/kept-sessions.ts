import { AgentSessions } from '../../state/sessions/agent-sessions.ts';
import type { Context } from '../context.ts';

/** The sessions of agent CLIs with which runs of an actor go on, together. */
export interface KeptSessions {
  actor: string;
  tier: string;
  /** The CLI. */
  agent: string;
  /** Of how many threads. */
  threads: number;
  /** When the last run in one of them ended, ISO 8601 UTC. */
  used: string;
}

/** The sessions of this machine by actor, tier and CLI; none where no tier keeps any. */
export async function keptSessions({ paths }: Context): Promise<KeptSessions[]> {
  const found = new Map<string, KeptSessions>();
  // A run may not look into the state of its machine.
  const all = await new AgentSessions(paths.root).all().catch(() => []);
  for (const { actor, tier, agent, used } of all) {
    const key = [actor, tier, agent].join('\0');
    const { threads = 0, used: last = used } = found.get(key) ?? {};
    const latest = last > used ? last : used;
    found.set(key, { actor, tier, agent, threads: threads + 1, used: latest });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
