import { join } from 'node:path';
import { userInfo } from 'node:os';
import { machineZone } from '../machine-zone.ts';
import { HostFileInForce } from '../../dispatcher/host-file-in-force.ts';
import { BudgetMail } from '../../dispatcher/run/budget-mail.ts';
import { Budgets } from '../../dispatcher/run/budgets.ts';
import { Guards } from '../../dispatcher/run/guards.ts';
import { Refusals } from '../../dispatcher/run/refusals.ts';
import { Spending } from '../../dispatcher/run/spending.ts';
import { Transcribing } from '../../dispatcher/transcribing/transcribing.ts';
import { Permissions } from '../../dispatcher/permission/permissions.ts';
import { ChannelLinks } from '../../bus/channel-links.ts';
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
import { BudgetHolds, BudgetPasses } from '../../state/bills/budget-holds.ts';
import type { Ledger } from '../../state/bills/ledger.ts';
import type { Sandboxes } from '../../runner/sandbox/sandboxes.ts';
import { Holds } from '../../state/holds.ts';
import { OpenPermissions } from '../../state/permissions/open-permissions.ts';
import { Pauses } from '../../state/pause.ts';
import { RunBudget } from '../../state/run-budget.ts';
import { AgentSessions } from '../../state/sessions/agent-sessions.ts';
import { KeptProcesses } from '../../state/sessions/kept-processes.ts';
import { keptFor, Transcripts } from '../../state/transcripts/transcripts.ts';
import type { Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { approvingIn } from '../setup/approvals.ts';
import { statePaths } from '../../state/state-paths.ts';
import { Runs } from '../../state/runs.ts';
import { endWarmSession } from '../health/warm-sessions.ts';
import { statesIn } from './serving.ts';

/** The part that decides whether runs may start. */
export function guardsOf(
  { paths, env, now, transport, deadLetters }: Context,
  ledger: Ledger,
  sandboxes: Sandboxes,
  log: Log,
): Guards {
  const machine = (): string | undefined => transport.defaults.maxUsdPerDay;
  return new Guards({
    sandboxes,
    budgets: new BudgetMail({
      budgets: new Budgets(new Spending(ledger, now), machine),
      holds: new BudgetHolds(paths.root),
      passes: new BudgetPasses(paths.root),
      letters: deadLetters,
      now,
    }),
    refusals: new Refusals({
      holds: new Holds(paths.root),
      environment: env,
      now,
      zone: timeZone(),
    }),
    pauses: new Pauses(paths.root),
    budget: new RunBudget(paths.root),
    log,
    now,
  });
}

/** How many processes are kept where git config crosstalk.warmSessions does not say. */
const WARM_SESSIONS = 8;
/** MiB that each may use where git config crosstalk.warmMemory does not say. */
const WARM_MEMORY = 2048;
const MIB = 1024 * 1024;

/** The part that keeps sessions of agent CLIs. */
export function sessionsOf(
  { transport, paths, env, newId, now }: Context,
  log: Log,
): { sessions: Sessions; keptProcesses: KeptProcesses } {
  const records = new KeptProcesses(paths.root);
  const { defaults } = transport;
  const limits = {
    most: () => countIn(defaults.warmSessions) ?? WARM_SESSIONS,
    elsewhere: () => keptElsewhere(stateHome(env), paths.root),
    memory: () => (countIn(defaults.warmMemory) ?? WARM_MEMORY) * MIB,
    idle: 30 * 60_000,
    look: 5000,
  };
  const warm = new WarmSessions({ records, limits, newId, now, log });
  const kept = new AgentSessions(paths.root);
  return { sessions: new Sessions(kept, warm, now), keptProcesses: records };
}

/** A whole number from a setting; undefined for anything else. */
function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text.trim()) ? Number(text) : undefined;
}

/** The part that takes down what runs print. */
export function transcribingOf({ paths, now, transport }: Context): Transcribing {
  const keep = (): number => keptFor(transport.defaults.keepTranscripts);
  return new Transcribing(new Transcripts(paths.transcripts), keep, now);
}

/** The part that asks people for permission in the middle of runs. */
export function permissionsOf(context: Context, publisher: Publisher, log: Log): Permissions {
  const { transport, reader, verifier, decided, paths, outbox, screen } = context;
  const links = new ChannelLinks(transport, reader);
  return new Permissions({
    open: new OpenPermissions(paths.root),
    outbox,
    publisher,
    reader,
    decisions: new Decisions({ transport, links, verifier, decided }),
    screen: (entry) => screen.look(entry),
    log,
    now: context.now,
    newId: context.newId,
    suffix: context.suffix,
  });
}

/** The name under which the operator of this machine writes, as `send` finds it. */
export function operatorOf(context: Context): string {
  try {
    return resolveFrom(context, undefined, userInfo().username);
  } catch {
    return 'operator';
  }
}

/** The IANA time zone of clock times that CLIs of this machine print. */
export function timeZone(): string {
  return machineZone() ?? 'UTC';
}

/** The part that determines which host is served. */
export function hostFileOf(
  context: Context,
  { host, trustHostFile, log }: { host?: string; trustHostFile: boolean; log: Log },
): HostFileInForce {
  return new HostFileInForce({
    approving: approvingIn(context),
    machine: {
      hostname: context.hostname,
      ...(host === undefined ? {} : { alias: host }),
    },
    lastGood: join(context.paths.root, 'host-file.md'),
    trust: trustHostFile,
    now: context.now,
    log,
  });
}

/**
 * The processes of agent CLIs that this machine keeps for other transports of this user.
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
