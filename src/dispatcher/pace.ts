import type { DispatcherApp } from '../bus/app.ts';
import type { ServeOptions } from './serve-options.ts';
import { reasonOf } from '../errors.ts';
import { HOSTS } from '../protocol/layout.ts';
import { type Heartbeat } from '../state/heartbeat.ts';
import { type Dispatching } from './tick.ts';
import { type BellState } from './bell/far-bell.ts';
import { type TrackedError } from '../bus/stalled-jobs.ts';

/** Milliseconds between polls of an idle machine that serves one transport. */
const QUIET_MS = 5000;
/**
 * The time for each transport where this machine serves several: it keeps the polls of all of them below half
 * a percent of one core. A poll takes 20 ms of it, 29 over HTTP, all git processes included (docs/performance.md).
 */
const EACH_MS = 6000;
/** The same while a bell works, which for ten transports takes 0.16 % alone; polls find the messages it has lost. */
const EACH_WITH_BELL_MS = 9000;
/** Polling is allowed this share of the reads that a forge asks a repository to keep to. */
const SHARE_OF_READS = 0.5;
/** However many hosts a repository has, none of them polls more slowly for their sake. */
const SLOWEST_FOR_HOSTS_MS = 30_000;
/** The same while a bell notifies this machine of its mail: polls are for notifications that the bell has lost. */
const SLOWEST_WITH_BELL_MS = 300_000;
/** Least milliseconds between two looks at what the pace depends on. */
const LOOK_MS = 60_000;

/** Time that an idle dispatcher waits between polls, and the reasons to wait longer than it could. */
export interface Interval {
  ms: number;
  slowedBy?: string;
  /** Set if there are more hosts than the remote can serve one poll a second each. */
  isCrowded?: true;
}

/** Facts on which the time between polls depends. */
interface Sharers {
  /** The dispatchers of this user on this machine. */
  serving: number;
  /** The hosts of the transport. */
  hosts: number;
  /** The reads a second that its remote asks all of them to keep to; undefined for no limit. */
  reads?: number | undefined;
  /** Whether a bell works that notifies this machine of news. */
  isTold?: boolean;
}

/** Returns the time between polls of an idle machine. */
export function intervalFor({ serving, hosts, reads, isTold }: Sharers): Interval {
  const each = isTold === true ? EACH_WITH_BELL_MS : EACH_MS;
  const forMachine = serving > 1 ? each * serving : QUIET_MS;
  const allowed = reads === undefined ? 0 : (1000 * hosts) / (reads * SHARE_OF_READS);
  const slowest = isTold === true ? SLOWEST_WITH_BELL_MS : SLOWEST_FOR_HOSTS_MS;
  const forRemote = Math.min(slowest, Math.round(allowed));
  const crowded = reads !== undefined && hosts > reads && { isCrowded: true as const };
  if (forRemote > forMachine)
    return {
      ms: forRemote,
      ...crowded,
      slowedBy: `its ${String(hosts)} hosts share ${String(reads)} reads a second`,
    };
  return {
    ms: forMachine,
    ...crowded,
    ...(forMachine > QUIET_MS && { slowedBy: `${String(serving)} transports here take turns` }),
  };
}

/** Pace of polling: the configured one, or one that this machine and the remote can bear. */
export class Pace {
  readonly #given: number | undefined;
  readonly #app: Pick<DispatcherApp, 'transport' | 'log'>;
  readonly #serving: () => Promise<number>;
  readonly #bell: { readonly isUp: boolean };
  #found: Sharers = { serving: 1, hosts: 0 };
  #looked = -Infinity;

  /**
   * @param interval milliseconds; undefined to find them out
   * @param serving counts the dispatchers of this user on this machine, this one included
   */
  constructor(
    app: Pick<DispatcherApp, 'transport' | 'log'>,
    { interval, serving }: Pick<ServeOptions, 'interval' | 'serving'>,
    bell: { readonly isUp: boolean },
  ) {
    this.#app = app;
    this.#given = interval;
    this.#serving = serving;
    this.#bell = bell;
  }

  get interval(): Interval {
    if (this.#given !== undefined) return { ms: this.#given };
    return intervalFor({ ...this.#found, isTold: this.#bell.isUp });
  }

  /** Whether news among others should not make this host poll sooner: all hosts see them. */
  get isCrowded(): boolean {
    return this.interval.isCrowded === true;
  }

  /** Looks again at what the pace depends on, now and then; the next wait goes by it. */
  look(): void {
    const now = performance.now();
    if (this.#given !== undefined || now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    void this.#find().catch((error: unknown) => {
      this.#app.log('internal_error', { error: `pace: ${reasonOf(error)}` });
    });
  }

  async #find(): Promise<void> {
    const { transport } = this.#app;
    const { readsPerSecond: reads } = transport.limits ?? {};
    const hosts = reads === undefined ? 0 : await this.#hosts();
    this.#found = { serving: await this.#serving(), hosts, reads };
  }

  async #hosts(): Promise<number> {
    const { transport } = this.#app;
    const tip = await transport.tip();
    if (tip === undefined) return 0;
    const files = await transport.list(tip, [HOSTS]);
    return files.filter(({ path }) => path.endsWith('.md')).length;
  }
}

/** Facts that the service knows and its parts do not. */
interface ServiceFacts {
  version: string;
  /** As ISO 8601 in UTC. */
  startedAt: string;
  /** The current time, as ISO 8601 in UTC. */
  at: string;
  interval: Interval;
  fetchFailing: TrackedError | undefined;
  /** Since when ticks fail, and the reason. */
  tickFailing: TrackedError | undefined;
  /** Undefined without a bell between machines. */
  bell: BellState | undefined;
}

/** Returns the current state of a dispatcher, for `crosstalk status`. */
export async function pulse(app: Dispatching, facts: ServiceFacts): Promise<Heartbeat> {
  const { dispatcher, deliveries, hosts, publisher, transport } = app;
  const { fetchFailing } = facts;
  const { failing } = publisher;
  const stalled = facts.tickFailing ?? app.stalled.first;
  const unrecorded = app.unrecorded.first;
  const joining = dispatcher.joins.waiting;
  const counts = deliveries.mailboxes.counts();
  return {
    pid: process.pid,
    version: facts.version,
    started_at: facts.startedAt,
    at: facts.at,
    interval: facts.interval.ms / 1000,
    ...(facts.interval.slowedBy !== undefined && { slowed_by: facts.interval.slowedBy }),
    host: hosts.active?.alias ?? null,
    tip: deliveries.mailboxes.scanned ?? (await transport.tip().catch(() => undefined)) ?? null,
    running: dispatcher.running,
    pending: counts.pending,
    ...(counts.awaiting > 0 && { unread: counts.awaiting }),
    parked: app.guards.deferrals,
    ...(joining.length > 0 && { joining }),
    ...(fetchFailing && {
      fetch_failing_since: fetchFailing.since,
      fetch_error: fetchFailing.reason,
    }),
    ...(facts.bell && { bell: facts.bell }),
    ...(failing && { push_failing_since: failing.since, push_error: failing.reason }),
    ...(deliveries.aliases.found && { alias_shared: deliveries.aliases.found }),
    ...app.extras.report(),
    ...(unrecorded && {
      record_failing_since: unrecorded.since,
      record_error: unrecorded.reason,
    }),
    ...(stalled && { stalled_since: stalled.since, stall_error: stalled.reason }),
    ...(hosts.problem !== undefined && { host_problem: hosts.problem }),
  };
}
