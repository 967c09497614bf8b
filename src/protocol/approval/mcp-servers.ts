import { digestOf, type Hash, type HeldChange } from './approval.ts';
import { canonical, copy, own, plain, type Approved, type Value } from './record.ts';
import type { McpServer } from '../files/mcp-servers.ts';

/** Returns the MCP servers of an actor that are approved on this machine. */
export function approvedServers(approved: Approved, actor: string): readonly McpServer[] {
  return own(approved, actor)?.mcps ?? [];
}

/**
 * Returns the servers in the profile of an actor as a held change, unless they are the approved ones: a set is approved
 * as a whole, and the approved one stays in force until then (automation.md, "Tools by value").
 *
 * @param proposed those of its profile
 * @param refused reason why one of them may never run here
 */
export function heldServers(
  actor: string,
  approved: readonly McpServer[],
  proposed: readonly McpServer[],
  hash: Hash,
  refused: string | undefined,
): HeldChange | undefined {
  const [before, after] = [byName(approved), byName(proposed)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changes = names
    .map((name) => ({ name, was: own(before, name), is: own(after, name) }))
    .filter(({ was, is }) => canonical(was) !== canonical(is))
    .map(({ name, was, is }) => ({
      option: `mcps.${name}`,
      ...(was !== undefined && { approved: valueOf(was) }),
      ...(is !== undefined && { proposed: valueOf(is) }),
    }));
  if (changes.length === 0) return undefined;
  return {
    digest: digestOf(hash, ['mcps', actor], sorted(proposed)),
    kind: 'mcps',
    name: `${actor}.mcps`,
    actor,
    changes,
    ...(refused !== undefined && { refused }),
  };
}

/** Returns the approvals with these servers as those of an actor. */
export function withServers(
  approved: Approved,
  actor: string,
  servers: readonly McpServer[],
): Approved {
  const result = copy(approved);
  const known = (result[actor] ??= { tiers: plain({}) });
  if (servers.length > 0) known.mcps = servers;
  else delete known.mcps;
  return result;
}

/** Returns the approvals of a host file that was approved as a whole, with the servers that were approved before. */
export function keepingServers(before: Approved, whole: Approved): Approved {
  return Object.entries(before).reduce(
    (all, [actor, { mcps = [] }]) => (mcps.length === 0 ? all : withServers(all, actor, mcps)),
    whole,
  );
}

function byName(servers: readonly McpServer[]): Record<string, McpServer> {
  return plain(Object.fromEntries(servers.map((server) => [server.name, server])));
}

function sorted(servers: readonly McpServer[]): McpServer[] {
  return [...servers].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns a server without its name, which is shown beside it. */
function valueOf(server: McpServer): Value {
  return Object.fromEntries(Object.entries(server).filter(([field]) => field !== 'name'));
}
