import { decodeTime } from 'ulid';
import { accountOf } from '../../agents/agents.ts';
import { BudgetHolds, BudgetPasses } from '../../state/bills/budget-holds.ts';
import { Cursors, type ActorCursors } from '../../state/cursors.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { Gates, type Gate } from '../../state/gates.ts';
import { loadHeartbeat, type Heartbeat } from '../../state/heartbeat.ts';
import { Holds, type Hold, Pauses, type Pause } from '../../state/holds.ts';
import { holderOf } from '../../state/lock.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import { OpenPermissions, type OpenPermission } from '../../state/permissions/open-permissions.ts';
import { RunBudget } from '../../state/run-budget.ts';
import type { RunRecord } from '../../state/runs.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { weigh } from '../../bus/approvals.ts';
import { isOfRun } from '../agent-mode.ts';
import type { Context } from '../context.ts';
import { approvingIn } from '../setup/approvals.ts';
import { findServed } from '../setup/hosts.ts';

/** A run under way on this machine. */
export interface RunHere extends Pick<RunRecord, 'id' | 'actor' | 'channel' | 'messages'> {
  /** Null where the dispatcher has not reported it yet. */
  tier: string | null;
  /** ISO 8601 UTC. */
  since: string;
}

/** The records of this machine's state. */
export interface Records {
  /** Whether a dispatcher is there. */
  runs: boolean;
  /** The heartbeat of that dispatcher; without one none of its earlier reports counts. */
  heartbeat: Heartbeat | undefined;
  /** Newest heartbeat here, of any dispatcher: for facts that carry their own time, and the alias served last. */
  lastSaid: Heartbeat | undefined;
  paused: Pause | null;
  holds: readonly Hold[];
  running: readonly RunHere[];
  letters: readonly DeadLetter[];
  outbox: readonly OutboxEntry[];
  cursors: ReadonlyMap<string, ActorCursors>;
  permissions: readonly OpenPermission[];
  /** Plans that wait at the gates of this machine, oldest first, and those that were decided on. */
  gates: readonly Gate[];
}

/** Knowledge of this machine about its own deliveries, for everything that reports on them. */
export interface Local extends Records {
  /** The alias under which this machine serves, if it serves at all, and the actors of its host file. */
  alias: string | undefined;
  actors: ReadonlySet<string>;
  /** Tiers whose mail waits: by the dispatcher's report; while none runs, by the records. */
  parked: Heartbeat['parked'];
}

/** Reads the records of this machine, without git. */
export async function readRecords(context: Context): Promise<Records> {
  const { paths, deadLetters, outbox, agentMode } = context;
  const [holder, said, paused, holds, letters, entries, cursors, permissions, gates] =
    await Promise.all([
      holderOf(paths.root, 'dispatcher'),
      loadHeartbeat(paths.heartbeat),
      new Pauses(paths.root).get(),
      new Holds(paths.root).all(),
      deadLetters.all(),
      outbox.all(),
      new Cursors(paths.root).load(),
      new OpenPermissions(paths.root).all(),
      new Gates(paths.root).all(),
    ]);
  // The sandbox of a run may hide the dispatcher's process, but a run exists only with a dispatcher.
  const inRun = isOfRun(agentMode);
  const runs = inRun || holder !== undefined;
  const heartbeat = inRun || (runs && said?.pid === holder?.pid) ? said : undefined;
  const running = await runningHere(context, runs, said);
  const state = {
    runs,
    heartbeat,
    lastSaid: said,
    paused: paused ?? null,
    holds,
    running,
    letters,
  };
  return { ...state, outbox: entries, cursors, permissions, gates };
}

/** Reads this machine's knowledge of its own deliveries. */
export async function readLocal(context: Context): Promise<Local> {
  const [records, { found, served }] = await Promise.all([
    readRecords(context),
    findServed(context, undefined),
  ]);
  const file = found.kind === 'found' ? found.file : undefined;
  const parked = await parkedIn(context, records, async () =>
    found.kind === 'found' ? (await weigh(approvingIn(context), found)).actors : new Map(),
  );
  const actors = new Set(file?.actors.keys());
  return { ...records, alias: file?.alias ?? served, actors, parked };
}

/** The tiers in force on this machine, by actor. */
type Tiers = ReadonlyMap<string, readonly Tier[]>;

/**
 * Returns the runs at work: by their records, which exist for the whole run; the dispatcher's heartbeat knows their
 * tier. A run whose process has ended is not over before its record is removed, since a dispatcher is still recording
 * the outcome; runs that a dead dispatcher left are over.
 */
async function runningHere(
  { runs, now }: Context,
  isServed: boolean,
  heartbeat: Heartbeat | undefined,
): Promise<RunHere[]> {
  // A run may not look into the records of its machine.
  const records = await runs.leftovers().catch(() => []);
  return records
    .filter(({ alive }) => alive || isServed)
    .map(({ id, actor, channel, messages }) => {
      const said = heartbeat?.running.find(
        (run) => run.actor === actor && run.messages.some((path) => messages.includes(path)),
      );
      const since = beginningOf(id) ?? now().toISOString();
      return { id, actor, channel, messages, tier: said?.tier ?? null, since };
    });
}

/** Returns the start of a run: a dispatch id is a ULID, which begins with the time. */
function beginningOf(id: string): string | undefined {
  try {
    return new Date(decodeTime(id)).toISOString();
  } catch {
    return undefined;
  }
}

/**
 * Returns the tiers whose mail waits: by the dispatcher's report; while none runs, by the records, for a budget, each
 * once, for an account, or for the hour to be over.
 *
 * @param tiersOf the tiers in force, asked only while no dispatcher runs
 */
export async function parkedIn(
  { paths, now }: Pick<Context, 'paths' | 'now'>,
  { heartbeat, holds }: Pick<Records, 'heartbeat' | 'holds'>,
  tiersOf: () => Promise<Tiers>,
): Promise<Heartbeat['parked']> {
  if (heartbeat !== undefined) return heartbeat.parked;
  const [{ held }, passes] = await Promise.all([
    new BudgetHolds(paths.root).load(),
    new BudgetPasses(paths.root).load(),
  ]);
  const at = now().toISOString();
  const once = new Map(
    held
      .filter(({ actor, since, until }) => until > at && since > (passes.get(actor) ?? ''))
      .map(({ actor, tier, reason, until, said }) => [
        `${actor} ${tier} ${said}`,
        { actor, tier, reason, until, said },
      ]),
  );
  const runs = new RunBudget(paths.root);
  const spent: Heartbeat['parked'] = [];
  for (const [actor, all] of await tiersOf())
    for (const { name: tier, cli, maxRunsPerHour } of all) {
      const hold = holds.find(({ id }) => id === accountOf(cli)?.id);
      if (hold !== undefined && hold.until > at)
        spent.push({ actor, tier, reason: hold.reason, until: hold.until, said: hold.said });
      const next = await runs.nextStart(actor, tier, maxRunsPerHour, now().getTime());
      if (next !== undefined)
        spent.push({ actor, tier, reason: 'max_runs_per_hour', until: next.toISOString() });
    }
  return [...once.values(), ...spent];
}
