import type { App, DispatcherApp } from '../../bus/app.ts';
import { userInfo } from 'node:os';
import { HostFileInForce } from '../../dispatcher/host-file-in-force.ts';
import { BudgetMail } from '../../dispatcher/run/budget-mail.ts';
import { Budgets } from '../../dispatcher/run/budgets.ts';
import { Guards } from '../../dispatcher/run/guards.ts';
import { Refusals } from '../../dispatcher/run/refusals.ts';
import { Spending } from '../../dispatcher/run/spending.ts';
import { Transcribing } from '../../dispatcher/transcribing/transcribing.ts';
import { Permissions } from '../../dispatcher/permission/permissions.ts';
import type { ChannelLinks } from '../../bus/channel-links.ts';
import { Decisions } from '../../bus/decisions.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { Sessions } from '../../dispatcher/sessions/sessions.ts';
import { stateHome } from '../../state/directory.ts';
import {
  WarmSessions,
  type Elsewhere,
  type Idle,
} from '../../dispatcher/sessions/warm-sessions.ts';
import type { Log } from '../../log.ts';
import { AgentSessions, KeptProcesses } from '../../state/sessions/agent-sessions.ts';
import { keptFor, Transcripts } from '../../state/transcripts/transcripts.ts';
import type { Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { approvingIn } from '../setup/approvals.ts';
import { statePaths } from '../../state/state-paths.ts';
import { Runs } from '../../state/runs.ts';
import { endWarmSession } from '../health/warm-sessions.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../../state/files.ts';
import { loadHeartbeat, silenceLimit } from '../../state/heartbeat.ts';
import { readJsonFile } from '../../state/registry.ts';

/** Creates the guards that decide whether runs may start. */
export function guardsOf(app: DispatcherApp): Guards {
  const { transport, ledger, now } = app;
  const machine = (): string | undefined => transport.defaults.maxUsdPerDay;
  const budgets = new BudgetMail(app, new Budgets(new Spending(ledger, now), machine));
  return new Guards(app, budgets, new Refusals(app));
}

/** Number of warm processes unless git config crosstalk.warmSessions says otherwise. */
const WARM_SESSIONS = 8;
/** MiB that each may use unless git config crosstalk.warmMemory says otherwise. */
const WARM_MEMORY = 2048;
const MIB = 1024 * 1024;

/** Creates the sessions of agent CLIs that stay warm. */
export function sessionsOf(app: DispatcherApp): Sessions {
  const { transport, paths, env, now } = app;
  const { defaults } = transport;
  const limits = {
    most: () => countIn(defaults.warmSessions) ?? WARM_SESSIONS,
    elsewhere: () => keptElsewhere(stateHome(env), paths.root),
    memory: () => (countIn(defaults.warmMemory) ?? WARM_MEMORY) * MIB,
    idle: 30 * 60_000,
    look: 5000,
  };
  return new Sessions(new AgentSessions(paths.root), new WarmSessions(app, limits), now);
}

/** Parses a whole number from a setting; undefined for anything else. */
function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text.trim()) ? Number(text) : undefined;
}

/** Creates the part that writes transcripts of runs. */
export function transcribingOf({ paths, now, transport }: App): Transcribing {
  const keep = (): number => keptFor(transport.defaults.keepTranscripts);
  return new Transcribing(new Transcripts(paths.transcripts), keep, now);
}

/** Creates the part that asks people for permission during runs. */
export function permissionsOf(
  app: DispatcherApp,
  publisher: Publisher,
  links: ChannelLinks,
): Permissions {
  const decisions = new Decisions({ ...app, links });
  return new Permissions(app, publisher, decisions);
}

/** Returns the name under which the operator of this machine writes, as `send` determines it. */
export function operatorOf(context: Context): string {
  try {
    return resolveFrom(context, undefined, userInfo().username);
  } catch {
    return 'operator';
  }
}

/** Creates the part that determines which host is served. */
export function hostFileOf(
  context: Context,
  { host, trustHostFile, log }: { host?: string; trustHostFile: boolean; log: Log },
): HostFileInForce {
  const machine = { hostname: context.hostname, ...(host !== undefined && { alias: host }) };
  const app = { ...context, log };
  return new HostFileInForce(app, approvingIn(context), machine, { trust: trustHostFile });
}

/**
 * Returns the processes of agent CLIs that this machine keeps for other transports of this user.
 *
 * @param home the folder of all transports' state
 * @param own the state directory of this transport
 */
async function keptElsewhere(home: string, own: string): Promise<Elsewhere> {
  let count = 0;
  const idle: Idle[] = [];
  for (const state of await statesIn(home)) {
    if (state === own) continue;
    const paths = statePaths(state);
    const alive = await new KeptProcesses(paths.root).alive().catch(() => []);
    count += alive.length;
    if (alive.length === 0) continue;
    const runs = await new Runs(paths.root).leftovers().catch(() => []);
    const end = (id: string): Promise<boolean> =>
      endWarmSession({ paths }, id).then(
        () => true,
        () => false,
      );
    for (const { id, used } of alive)
      if (!runs.some(({ desk }) => desk === id)) idle.push({ used, end: () => end(id) });
  }
  return { count, idle };
}

/** Maximum number of clones that are examined. */
const MOST = 1000;

/**
 * Counts the dispatchers of this user that run on this machine, for any transports: those that have
 * reported in time. A dispatcher whose state cannot be determined is not counted.
 *
 * @param home the folder of all transports' state
 * @param now milliseconds
 */
export async function servingCount(home: string, now: number): Promise<number> {
  let count = 0;
  for (const state of await statesIn(home)) if (await isServed(state, now)) count++;
  return count;
}

/**
 * Returns the state directories of this user's clones on this machine.
 *
 * @param home the folder of all transports' state
 */
async function statesIn(home: string): Promise<ReadonlySet<string>> {
  const folder = join(home, 'clones');
  const names = (await readdir(folder).catch(() => [])).slice(0, MOST);
  const states = new Set<string>();
  for (const name of names) {
    const value = name.endsWith('.json') ? await readJsonFile(join(folder, name)) : undefined;
    const all: unknown = isRecord(value) ? value['states'] : undefined;
    const last: unknown = Array.isArray(all) ? all.at(-1) : undefined;
    if (isRecord(last) && typeof last['path'] === 'string') states.add(last['path']);
  }
  return states;
}

async function isServed(state: string, now: number): Promise<boolean> {
  const heartbeat = await loadHeartbeat(join(state, 'heartbeat.json')).catch(() => undefined);
  if (heartbeat === undefined || !isRunning(heartbeat.pid)) return false;
  return (now - Date.parse(heartbeat.at)) / 1000 <= silenceLimit(heartbeat.interval);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
