import type { DispatcherApp } from '../../bus/app.ts';
import type { AcpWay } from '../../agents/sessions/warm-of.ts';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { memoryOf } from '../../runner/memory.ts';
import type { ProcessIdentity } from '../../state/process-identity.ts';
import type {
  AgentSession,
  SessionOwner,
  KeptProcess,
} from '../../state/sessions/agent-sessions.ts';
import type { PooledProcess, AgentProcess } from './pooled-process.ts';
import type { SessionStore } from './store.ts';

/** Limits of pooled processes: their number, and their time. */
interface WarmLimits {
  /** On this machine; 0 for none. */
  most: () => number;
  /** Pooled processes of this machine for other transports. */
  elsewhere: () => Promise<Elsewhere>;
  /** Bytes that each may use, with the processes it has started. */
  memory: () => number;
  /** Milliseconds after its last turn. */
  idle: number;
  /** Milliseconds between looks at their memory. */
  look: number;
}

type WarmApp = Pick<DispatcherApp, 'keptProcesses' | 'newId' | 'now' | 'log'>;

type Ended = 'idle' | 'room' | 'died' | 'memory' | 'over' | 'stopped';

interface Entry {
  owner: SessionOwner;
  id: string;
  agent: string;
  tier: string;
  /** The order in which they were used. */
  order: number;
  isAtWork: boolean;
  seat?: AgentProcess;
  record?: KeptProcess;
  session?: AgentSession;
  timer?: NodeJS.Timeout;
  ending?: Promise<void>;
}

/**
 * Processes of agent CLIs that are pooled between runs (warm.md): one for each actor and thread, so that no two
 * threads share one. Their knowledge is in memory alone, since it ends with them.
 *
 * The life of one: room is made for it, if need be by the end of the one that was used least recently → its process
 * is on record → it is at work → its turn is on record, and it waits → it is at work again. It ends when a turn comes
 * to nothing, when it has waited too long, makes room, dies, or uses too much memory, and with the dispatcher.
 */
export class WarmSessions implements SessionStore {
  readonly #app: WarmApp;
  readonly #limits: WarmLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #claimed = new Set<string>();
  #order = 0;
  #watch: NodeJS.Timeout | undefined;
  #isOver = false;
  #beginning: Promise<unknown> = Promise.resolve();

  constructor(app: WarmApp, limits: WarmLimits) {
    this.#app = app;
    this.#limits = limits;
  }

  claim(owner: SessionOwner): boolean {
    const key = keyOf(owner);
    if (this.#isOver || this.#claimed.has(key)) return false;
    this.#claimed.add(key);
    return true;
  }

  leave(owner: SessionOwner): void {
    this.#claimed.delete(keyOf(owner));
  }

  async of(owner: SessionOwner): Promise<AgentSession | undefined> {
    const entry = this.#entries.get(keyOf(owner));
    if (entry === undefined) return undefined;
    if (entry.seat?.cli.isOpen !== true) await this.#end(entry, 'died');
    return entry.ending === undefined ? entry.session : undefined;
  }

  /** Returns the place of a session that can be continued; called after {@link of}, by the claimant. */
  goOn(owner: SessionOwner, way: AcpWay): PooledProcess | undefined {
    const entry = this.#entries.get(keyOf(owner));
    if (entry?.seat === undefined || entry.ending !== undefined) return undefined;
    entry.isAtWork = true;
    clearTimeout(entry.timer);
    return this.#kept(entry, way);
  }

  /** Returns a place for a new session; undefined if all that may be pooled are at work. */
  begin(owner: SessionOwner, tier: string, way: AcpWay): Promise<PooledProcess | undefined> {
    // One after another, as each of several would find the same room.
    const begun = this.#beginning.then(() => this.#begin(owner, tier, way));
    this.#beginning = begun.catch(() => undefined);
    return begun;
  }

  async #begin(owner: SessionOwner, tier: string, way: AcpWay): Promise<PooledProcess | undefined> {
    const key = keyOf(owner);
    if (!(await this.#makeRoom())) return undefined;
    const { agent } = way;
    const entry: Entry = {
      ...{ owner, agent, tier, id: this.#app.newId(), order: ++this.#order, isAtWork: true },
    };
    this.#entries.set(key, entry);
    return this.#kept(entry, way);
  }

  async put(session: AgentSession): Promise<void> {
    const entry = this.#entries.get(keyOf(session));
    if (entry?.record === undefined) return;
    const { used, turns, context } = session;
    Object.assign(entry, { session, isAtWork: false, order: ++this.#order });
    if (entry.seat?.cli.isOpen !== true) return this.#end(entry, 'died');
    const { context: before, ...record } = entry.record;
    const size = context ?? before;
    entry.record = { ...record, used, turns, ...(size && { context: size }) };
    // Also where a full disk takes no record; not sooner, as the record would come back after its end.
    await this.#app.keptProcesses.put(entry.record).finally(() => {
      entry.timer = setTimeout(() => void this.#end(entry, 'idle'), this.#limits.idle).unref();
    });
    passed('warm_waits');
  }

  async end(owner: SessionOwner): Promise<void> {
    const entry = this.#entries.get(keyOf(owner));
    if (entry !== undefined) await this.#end(entry, 'over');
  }

  /** Whether a process is pooled that works in the folders of an actor and a thread. */
  keeps(owner: SessionOwner): boolean {
    return this.#entries.has(keyOf(owner));
  }

  /** Ends all of them, and takes no more; called when no run is under way. */
  async endAll(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#entries.values()].map((entry) => this.#end(entry, 'stopped')));
    clearInterval(this.#watch);
  }

  #kept(entry: Entry, way: AcpWay): PooledProcess {
    return {
      id: entry.id,
      way,
      ...(entry.seat && { seat: entry.seat }),
      take: (...given) => this.#take(entry, ...given),
    };
  }

  async #take(entry: Entry, seat: AgentProcess, process: ProcessIdentity): Promise<void> {
    const at = this.#app.now().toISOString();
    const { owner, id, agent, tier } = entry;
    entry.seat = seat;
    entry.record = { ...owner, id, agent, tier, process, since: at, used: at, turns: 0 };
    await this.#app.keptProcesses.put(entry.record);
    passed('warm_recorded');
    this.#watch ??= setInterval(() => {
      void this.#look();
    }, this.#limits.look).unref();
  }

  async #makeRoom(): Promise<boolean> {
    const { most, elsewhere } = this.#limits;
    return (await makeRoom(most(), () => this.#own(), elsewhere)) && !this.#isOver;
  }

  #own(): Own {
    const all = [...this.#entries.values()];
    const idle = all
      .filter(({ isAtWork, ending }) => !isAtWork && ending === undefined)
      .sort((a, b) => a.order - b.order)
      .map((entry) => ({
        used: entry.record?.used ?? '',
        end: () => this.#end(entry, 'room').then(() => true),
      }));
    return { count: all.length, idle, leaving: all.flatMap(({ ending }) => ending ?? []) };
  }

  /** Ends those that have died, or use more memory than they may. */
  async #look(): Promise<void> {
    const limits = this.#limits;
    const entries = [...this.#entries.values()].filter((entry) => entry.ending === undefined);
    for (const entry of entries)
      if (!entry.isAtWork && entry.seat?.cli.isOpen !== true) await this.#end(entry, 'died');
    const pids = entries.flatMap(({ seat }) => seat?.cli.pid ?? []);
    const used = await memoryOf(pids).catch(() => new Map<number, number>());
    const most = limits.memory();
    for (const entry of entries) {
      const bytes = used.get(entry.seat?.cli.pid ?? 0) ?? 0;
      if (bytes <= most) continue;
      const why = `it used ${megabytes(bytes)} of memory, more than the ${megabytes(most)} of git config crosstalk.warmMemory`;
      // A turn under way fails with that, and its end ends the session.
      if (entry.isAtWork) entry.seat?.cli.fail(why);
      else await this.#end(entry, 'memory');
    }
  }

  #end(entry: Entry, reason: Ended): Promise<void> {
    entry.ending ??= this.#close(entry, reason);
    return entry.ending;
  }

  async #close(entry: Entry, reason: Ended): Promise<void> {
    const { id, owner, seat, record } = entry;
    clearTimeout(entry.timer);
    try {
      await seat?.close();
      passed('warm_ended');
      await this.#app.keptProcesses.remove(id);
    } catch (error) {
      // The record stays, so that the next start looks for the remaining processes.
      this.#app.log('internal_error', { id, actor: owner.actor, error: reasonOf(error) });
    } finally {
      if (this.#entries.get(keyOf(owner)) === entry) this.#entries.delete(keyOf(owner));
      if (this.#entries.size === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
      }
      if (record !== undefined)
        this.#app.log('session_ended', {
          ...{ id, actor: owner.actor, agent: entry.agent, reason, turns: record.turns },
        });
    }
  }
}

function keyOf({ actor, channel, root }: SessionOwner): string {
  return [actor, channel, root].join('\0');
}

function megabytes(bytes: number): string {
  return `${String(Math.round(bytes / 1024 / 1024))} MiB`;
}

/** Pooled process that has nothing to do. */
export interface Idle {
  /** When its last turn ended, ISO 8601 UTC. */
  used: string;
  /** Ends it, unless it has started to work; returns whether it has ended. */
  end: () => Promise<boolean>;
}

/** Pooled processes of a machine for other transports. */
export interface Elsewhere {
  /** Those at work included. */
  count: number;
  idle: Idle[];
}

/** Pooled processes of a machine for this transport. */
interface Own extends Elsewhere {
  /** Resolve when those that are about to end have ended. */
  leaving: Promise<void>[];
}

/**
 * Makes room for one more process (warm.md): if the pool is full, the one that was used least recently ends,
 * whichever transport it is of. For one that starts, one of others ends at most, as their limit may be another one.
 *
 * @param most the number that this transport may pool, and this machine in all
 * @param own the pool of this transport at the moment, least recently used first
 * @returns whether there is room
 */
export async function makeRoom(
  most: number,
  own: () => Own,
  elsewhere: () => Promise<Elsewhere>,
): Promise<boolean> {
  for (let now = own(); now.count >= most; now = own()) {
    const [oldest] = now.idle;
    if (oldest === undefined && now.leaving.length === 0) return false;
    await (oldest === undefined ? Promise.race(now.leaving) : oldest.end());
  }
  const others = await elsewhere();
  const here = own();
  if (here.count + others.count < most) return true;
  const idle = [...here.idle, ...others.idle].sort((a, b) => (a.used < b.used ? -1 : 1));
  for (const one of idle) if (await one.end()) return true;
  return false;
}
