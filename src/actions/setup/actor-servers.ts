import { serversOf } from '../../agents/mcp/servers-of.ts';
import { approvedServers, withServers } from '../../protocol/approval/mcp-servers.ts';
import { canonical } from '../../protocol/approval/record.ts';
import { secretsIn, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { approvedFor, loadApprovals, updateApprovals } from '../../state/approvals.ts';
import type { Context } from '../context.ts';
import { profileOf } from './actors.ts';
import { knownHost } from './approvals.ts';
import { findThisHost } from './hosts.ts';
import { secretsOf } from './secrets.ts';

/** An MCP server of an actor, with its state on this machine. */
export interface ShownServer {
  name: string;
  /**
   * `approved`: its runs receive it as in the profile. `held`: the profile's version waits for approval.
   * `removed`: the profile does not name it any more, and it stays in force until that is approved.
   * `not_served`: no run on this machine.
   */
  state: 'approved' | 'held' | 'removed' | 'not_served';
  /** The digest with which the waiting change is approved. */
  digest?: string;
  /** Secrets that it needs and that this machine does not have. */
  missing: string[];
}

/** A tier in which an actor does not receive its servers. */
export interface WithoutServers {
  tier: string;
  why: string;
}

/** Lists the MCP servers of an actor: those of its profile, and others that are in force here. */
export async function shownServers(
  context: Context,
  actor: string,
): Promise<{ servers: ShownServer[]; without: WithoutServers[] }> {
  const { profile } = await profileOf(context, actor);
  const proposed = profile?.mcps ?? [];
  const { host, held } = await knownHost(context, undefined);
  const isServed = host?.file.actors.has(actor) === true;
  const approved = isServed ? await approvedHere(context, host.alias, actor) : [];
  if (proposed.length === 0 && approved.length === 0) return { servers: [], without: [] };
  const digest = held.find((one) => one.kind === 'mcps' && one.actor === actor)?.digest;
  const store = secretsOf(context);
  const lacking = new Set(await store.missing(secretsIn([...proposed, ...approved])));
  const shown = (server: McpServer, state: ShownServer['state']): ShownServer => ({
    name: server.name,
    state,
    ...(digest !== undefined && (state === 'held' || state === 'removed') && { digest }),
    missing: secretsIn([server]).filter((name) => lacking.has(name)),
  });
  const servers = proposed.map((server) =>
    shown(server, !isServed ? 'not_served' : has(approved, server) ? 'approved' : 'held'),
  );
  for (const server of approved)
    if (!proposed.some(({ name }) => name === server.name)) servers.push(shown(server, 'removed'));
  const without = (host?.inForce.get(actor) ?? []).flatMap(({ name, cli }) => {
    const taking = serversOf(cli);
    return taking.ok ? [] : [{ tier: name, why: taking.why }];
  });
  return { servers, without };
}

/**
 * Approves the servers of a profile that the operator has just written on this machine. A server that was there
 * before, under the same name, and was never approved was written by somebody else, even if the operator has changed
 * it: then the set waits.
 *
 * @param before those of the earlier profile; undefined for one that could not be read, any part of which may be
 * somebody else's
 * @returns whether they are in force here now; undefined when nothing had to be approved
 */
export async function approveWrittenServers(
  context: Context,
  actor: string,
  before: readonly McpServer[] | undefined,
  now: readonly McpServer[],
): Promise<boolean | undefined> {
  if (canonical(before ?? []) === canonical(now)) return undefined;
  const found = await findThisHost(context, undefined);
  if (found.kind !== 'found' || !found.file.actors.has(actor)) return undefined;
  const { alias } = found.file;
  const approved = await approvedHere(context, alias, actor);
  const foreign = before?.filter((server) => !has(approved, server)).map(({ name }) => name);
  const isOwn = now.every(
    (server) => has(approved, server) || foreign?.includes(server.name) === false,
  );
  const { held } = await knownHost(context, undefined);
  const change = held.find((one) => one.kind === 'mcps' && one.actor === actor);
  if (!isOwn || change?.refused !== undefined) return false;
  await updateApprovals(context.paths.approvals, (approvals) => ({
    ...approvals,
    hosts: {
      ...approvals.hosts,
      [alias]: withServers(approvedFor(approvals, alias), actor, now),
    },
  }));
  return true;
}

async function approvedHere(
  { paths }: Context,
  alias: string,
  actor: string,
): Promise<readonly McpServer[]> {
  const approvals = await loadApprovals(paths.approvals);
  return approvedServers(approvedFor(approvals, alias), actor);
}

function has(servers: readonly McpServer[], server: McpServer): boolean {
  return servers.some((one) => canonical(one) === canonical(server));
}
