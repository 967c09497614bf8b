import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { acpServers, serversOf, type FilledServer } from '../../agents/mcp/servers-of.ts';
import { secretsIn, withSecrets } from '../../protocol/files/mcp-servers.ts';
import { Secrets } from '../../state/automation/secrets.ts';
import type { DispatcherApp } from '../../bus/app.ts';
import type { ActiveHost } from '../../bus/approvals.ts';

/** Run for which servers are staged. */
interface Run {
  id: string;
  actor: string;
  tier: { name: string; cli: string };
  plans?: boolean;
}

/** The approved MCP servers of a run, with the secrets of this machine. */
export interface ServersOfRun {
  servers: readonly FilledServer[];
  /** The values of the secrets in them, by name. */
  secrets: ReadonlyMap<string, string>;
}

const NO_SERVERS: ServersOfRun = { servers: [], secrets: new Map() };

/**
 * Returns the MCP servers of a run. Nothing is read for an actor without approved servers.
 *
 * @returns the parts that are missing on this machine, in one line
 */
export async function serversForRun(
  { paths, screen, log }: Pick<DispatcherApp, 'paths' | 'screen' | 'log'>,
  host: Pick<ActiveHost, 'serversOf'> | undefined,
  { id, actor, tier, plans }: Run,
): Promise<ServersOfRun | { missing: string }> {
  const servers = host?.serversOf(actor) ?? [];
  // A run that plans changes nothing, and nobody knows what a tool changes.
  if (servers.length === 0 || plans === true) return NO_SERVERS;
  const taking = serversOf(tier.cli);
  if (!taking.ok) {
    const names = servers.map(({ name }) => name);
    log('mcp_left_out', { id, actor, tier: tier.name, servers: names, problem: taking.why });
    return NO_SERVERS;
  }
  const store = new Secrets(paths.root);
  const secrets = new Map<string, string>();
  const missing: string[] = [];
  for (const name of secretsIn(servers)) {
    const value = await store.get(name);
    if (value === undefined) missing.push(name);
    else secrets.set(name, value);
  }
  if (missing.length > 0) return { missing: lacks(actor, missing) };
  // The values given to a run must not leave this machine.
  for (const [name, value] of secrets) screen.known.add(name, value);
  const filled = servers.map((named) => ({ named, filled: withSecrets(named, secrets) }));
  return { servers: filled, secrets };
}

function lacks(actor: string, missing: readonly string[]): string {
  const set = missing.map((name) => `crosstalk secret set ${name}`).join('; ');
  return `the tools of ${actor} need ${missing.join(', ')}, which this machine does not keep, or cannot read; give it with: ${set}`;
}

/** Folders in which a run works. */
interface Place {
  dir: string;
  /** Whether it is a workspace of Crosstalk. */
  workspace: boolean;
}

/** Additions to the command line of a run with MCP servers. */
export interface StagedServers {
  /** Flags that are added to its command line, with a blank before them. */
  flags: string;
  env: Record<string, string>;
  /** Removes the files in the workspace, which stays when the run is over. */
  clear: () => Promise<void>;
}

const NOTHING: StagedServers = { flags: '', env: {}, clear: () => Promise.resolve() };

/**
 * Writes the files that start the MCP servers of a session into its directory, where it stays while the session
 * lives.
 *
 * @returns the servers as the Agent Client Protocol has them; they may hold secrets
 */
export async function stageAcpServers(
  { servers }: ServersOfRun,
  where: { runDir: string; env: NodeJS.ProcessEnv; asks: boolean; place: Place },
): Promise<Record<string, unknown>[]> {
  const laid = acpServers(servers, { ...where, inWorkspace: where.place.workspace });
  for (const { name, content } of laid.files)
    await writeFile(join(where.runDir, name), content, { mode: 0o600, flag: 'wx' });
  return laid.servers;
}

/**
 * Writes the description of the MCP servers for its CLI into the directory of a run, and where no other way is known
 * into its workspace, from which settings were removed before (trust.md §1).
 */
export async function stageServers(
  { log }: Pick<DispatcherApp, 'log'>,
  { id, actor, tier }: Run,
  { servers }: ServersOfRun,
  where: { runDir: string; env: NodeJS.ProcessEnv; asks: boolean; place: Place },
): Promise<StagedServers> {
  const taking = servers.length === 0 ? undefined : serversOf(tier.cli);
  if (taking?.ok !== true) return NOTHING;
  const { dir, workspace: inWorkspace } = where.place;
  const { flags, env, files, settings, left } = taking.render(servers, { ...where, inWorkspace });
  for (const { name, why } of left)
    log('mcp_left_out', { id, actor, tier: tier.name, servers: [name], problem: why });
  for (const { name, content } of files)
    await writeFile(join(where.runDir, name), content, { mode: 0o600, flag: 'wx' });
  const laid = { flags: flags === '' ? '' : ` ${flags}`, env };
  if (settings === undefined) return { ...laid, clear: NOTHING.clear };
  const folder = dirname(join(dir, settings.name));
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(dir, settings.name), settings.content, { mode: 0o600, flag: 'wx' });
  return { ...laid, clear: () => rm(folder, { recursive: true, force: true }) };
}
