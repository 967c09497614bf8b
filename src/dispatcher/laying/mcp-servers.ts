import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serversOf, type FilledServer } from '../../agents/mcp/servers-of.ts';
import { secretsIn, withSecrets, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { Secrets } from '../../state/automation/secrets.ts';
import type { Log } from '../../log.ts';

/** The run for which servers are laid. */
interface Run {
  id: string;
  actor: string;
  tier: { name: string; cli: string };
  plans?: boolean;
}

interface Parts {
  hosts: { readonly active: { serversOf: (actor: string) => readonly McpServer[] } | undefined };
  stateDir: string;
  log: Log;
}

/** The approved MCP servers of a run, with the secrets of this machine. */
export type ServersOfRun = readonly FilledServer[];

/**
 * The MCP servers of a run. Nothing is read for an actor of which none is approved.
 *
 * @returns what is missing on this machine, in one line
 */
export async function serversForRun(
  { hosts, stateDir, log }: Parts,
  { id, actor, tier, plans }: Run,
): Promise<{ servers: ServersOfRun } | { missing: string }> {
  const servers = hosts.active?.serversOf(actor) ?? [];
  // A run that plans changes nothing, and of a tool nobody knows what it changes.
  if (servers.length === 0 || plans === true) return { servers: [] };
  const taking = serversOf(tier.cli);
  if (!taking.ok) {
    const names = servers.map(({ name }) => name);
    log('mcp_left_out', { id, actor, tier: tier.name, servers: names, problem: taking.why });
    return { servers: [] };
  }
  const store = new Secrets(stateDir);
  const secrets = new Map<string, string>();
  const missing: string[] = [];
  for (const name of secretsIn(servers)) {
    const value = await store.get(name);
    if (value === undefined) missing.push(name);
    else secrets.set(name, value);
  }
  if (missing.length > 0) return { missing: lacks(actor, missing) };
  return { servers: servers.map((named) => ({ named, filled: withSecrets(named, secrets) })) };
}

function lacks(actor: string, missing: readonly string[]): string {
  const set = missing.map((name) => `crosstalk secret set ${name}`).join('; ');
  return `the tools of ${actor} need ${missing.join(', ')}, which this machine does not keep; give it with: ${set}`;
}

/** What a run with MCP servers has beside its command line. */
export interface LaidServers {
  /** What is added to its command line, with a blank before it. */
  flags: string;
  env: Record<string, string>;
}

/** Writes what its CLI is told of the MCP servers into the directory of a run. */
export async function layServers(
  { log }: { log: Log },
  { id, actor, tier }: Run,
  servers: ServersOfRun,
  where: { runDir: string; env: NodeJS.ProcessEnv; asks: boolean },
): Promise<LaidServers> {
  const taking = servers.length === 0 ? undefined : serversOf(tier.cli);
  if (taking?.ok !== true) return { flags: '', env: {} };
  const { flags, env, files, left } = taking.render(servers, where);
  for (const { name, why } of left)
    log('mcp_left_out', { id, actor, tier: tier.name, servers: [name], problem: why });
  for (const { name, content } of files)
    await writeFile(join(where.runDir, name), content, { mode: 0o600, flag: 'wx' });
  return { flags: flags === '' ? '' : ` ${flags}`, env };
}
