import { isRecord, readJson, writeWhole } from './files.ts';

/** A group of answers of peers that waits for others (`wake: all`). Stored under these names. */
export interface Joining {
  actor: string;
  channel: string;
  /** relPaths of the answers that have arrived. */
  messages: string[];
  /** The open questions, as `<channel id>/<relPath>`. */
  questions: string[];
  /** The addresses that still owe an answer. */
  waits_for: string[];
  /** Latest time of their delivery: ISO 8601 in UTC. */
  until: string;
}

/** The status that another machine has reported by the bell; anybody may have reported it in its place. */
export interface HeardMachine {
  /** Its alias. */
  host: string;
  version: string;
  /** Maximum seconds until its next report. */
  every: number;
  /** The actors with a run, one entry for each run. */
  running: string[];
  /** Number of tiers that hold their mail. */
  held: number;
  /** Time of its last report, by the clock of this machine. */
  at: string;
}

/** The status that a running dispatcher reports after each tick. Times are ISO 8601 UTC. */
export interface Heartbeat {
  pid: number;
  version: string;
  started_at: string;
  at: string;
  /** Seconds between polls when nothing happens. */
  interval: number;
  /** The reason why the interval is longer than the shortest one; absent when it is not, or was configured. */
  slowed_by?: string;
  host: string | null;
  tip: string | null;
  running: { actor: string; channel: string; tier: string; since: string; messages: string[] }[];
  pending: number;
  /** Number of deliveries that wait for content missing from the clone. */
  unread?: number;
  /**
   * Tiers whose mail waits because a limit or a budget is used up; for a budget, `said` names it and its
   * spent part. `instead` is the tier that takes the mail in the meantime, if there is one.
   */
  parked: {
    actor: string;
    tier: string;
    reason: string;
    until: string;
    said?: string;
    instead?: string;
  }[];
  /** Answers of peers that wait for others to the same questions. */
  joining?: Joining[];
  /** The bell between machines, if there is one; `failing` while nothing is received there. */
  bell?: {
    servers: string;
    failing?: { since: string; reason: string };
    machines: HeardMachine[];
  };
  fetch_failing_since?: string;
  fetch_error?: string;
  push_failing_since?: string;
  push_error?: string;
  /** Schedules that cannot be followed in their present form, by name, with the reason. */
  schedules?: { schedule: string; problem: string }[];
  /** Subscriptions that cannot be followed in their present form, by name, with the reason. */
  subscriptions?: { subscription: string; problem: string }[];
  /** Messages under this machine's alias that it did not write, since the start. */
  alias_shared?: { alias: string; count: number; newest: string };
  /** First time since when the outcome of a run cannot be written to disk, and the reason. */
  record_failing_since?: string;
  record_error?: string;
  /** First time since when the dispatcher's own work fails, for example because git is killed, and the reason. */
  stalled_since?: string;
  stall_error?: string;
  /** The reason why no host file is in force, or the problem with the newest one. */
  host_problem?: string;
}

/**
 * Returns the seconds without a report after which a dispatcher counts as stuck.
 *
 * @param interval seconds
 */
export function silenceLimit(interval: number): number {
  return Math.max(30, 3 * interval + 10);
}

/** Writes a heartbeat without fsync: a lost heartbeat only looks old. */
export function saveHeartbeat(path: string, heartbeat: Heartbeat): Promise<void> {
  return writeWhole(path, `${JSON.stringify(heartbeat, undefined, 1)}\n`);
}

/** Reads the last heartbeat; undefined when there is none, or when another version wrote it. */
export async function loadHeartbeat(path: string): Promise<Heartbeat | undefined> {
  const { value } = (await readJson(path)) ?? {};
  if (!isRecord(value)) return undefined;
  const { at, pid, interval, running, parked } = value;
  const whole =
    typeof at === 'string' &&
    typeof pid === 'number' &&
    typeof interval === 'number' &&
    Array.isArray(running) &&
    Array.isArray(parked);
  return whole ? (value as unknown as Heartbeat) : undefined;
}
