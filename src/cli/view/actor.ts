import type { ActorInfo } from '../../operations/setup/actors.ts';
import type { shownServers, ShownServer } from '../../operations/setup/actor-servers.ts';
import { heardWords } from './machine.ts';

/** A line for each MCP server, and one for each tier that is not given them. */
export function toolRows(tools: Awaited<ReturnType<typeof shownServers>> | false): string[][] {
  if (tools === false || tools.servers.length === 0) return [];
  return [
    ...tools.servers.map(({ name, state, digest, missing }) => {
      const how = digest === undefined ? '' : `, crosstalk host approve ${digest}`;
      const lacks = missing.length === 0 ? '' : `; missing: ${missing.join(', ')}`;
      return ['tool', `${name}: ${TOOL_STATES[state]}${how}${lacks}`];
    }),
    ...tools.without.map(({ tier, why }) => ['no tools', `${tier}: ${why}`]),
  ];
}

const TOOL_STATES: Record<ShownServer['state'], string> = {
  approved: 'approved',
  held: 'held, as its definition is not approved here',
  removed: 'in force, as its removal is not approved here',
  not_served: 'not served by this machine',
};

/** The hosts that serve an actor, with its tiers there, in words. */
export function served({ hosts }: Pick<ActorInfo, 'hosts'>): string {
  return hosts.length === 0 ? 'no host' : hosts.map(host).join(', ');
}

function host({ alias, tiers, live, heard_s: heard }: ActorInfo['hosts'][number]): string {
  const isThere = live === undefined ? '' : `, ${heardWords({ live, heard_s: heard ?? null })}`;
  return `${alias} (${tiers.join(', ')}${isThere})`;
}
