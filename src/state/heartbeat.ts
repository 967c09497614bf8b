import { isRecord, readJson, writeWhole } from './files.ts';

/** Answers of peers that wait for others (`wake: all`). Stored under these names. */
export interface Joining {
  actor: string;
  channel: string;
  /** relPaths of those that have come. */
  messages: string[];
  /** The open questions, as `<channel id>/<relPath>`. */
  questions: string[];
  /** The addresses of those that still owe an answer. */
  waits_for: string[];
  /** When they are handed over at the latest: ISO 8601 in UTC. */
  until: string;
}

/** What another machine has said of itself by the bell; anybody may have said it in its place. */
export interface HeardMachine {
  /** Its alias. */
  host: string;
  version: string;
  /** Seconds after which it says so again, at the latest. */
  every: number;
  /** The actors at work, one for each run. */
  running: string[];
  /** How many tiers hold their mail back. */
  held: number;
  /** When it was heard last, by the clock of this machine. */
  at: string;
}

/** What a running dispatcher says of itself after each tick. Times are ISO 8601 UTC. */
export interface Heartbeat {
  pid: number;
  version: string;
  started_at: string;
  at: string;
  /** Seconds between polls when nothing happens. */
  interval: number;
  /** Why it is longer than it could be; absent where it is not, or was given. */
  slowed_by?: string;
  host: string | null;
  tip: string | null;
  running: { actor: string; channel: string; tier: string; since: string; messages: string[] }[];
  pending: number;
  /** Deliveries that wait for content that is missing from the clone. */
  unread?: number;
  /**
   * Tiers whose mail waits because a limit or a budget is used up; of a budget `said` tells which, and
   * how much of it is spent. `instead` is the tier that takes the mail meanwhile, if there is one.
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
  /** The bell between machines, where there is one; `failing` while nothing is heard there. */
  bell?: {
    servers: string;
    failing?: { since: string; reason: string };
    machines: HeardMachine[];
  };
  fetch_failing_since?: string;
  fetch_error?: string;
  push_failing_since?: string;
  push_error?: string;
  /** Schedules that cannot be followed as they stand, by name, and why. */
  schedules?: { schedule: string; problem: string }[];
  /** Subscriptions that cannot be followed as they stand, by name, and why. */
  subscriptions?: { subscription: string; problem: string }[];
  /** Messages under this machine's alias that it did not write, since the start. */
  alias_shared?: { alias: string; count: number; newest: string };
  /** Since when what a run has said cannot be written to disk, and why. */
  record_failing_since?: string;
  record_error?: string;
  /** Since when the dispatcher's own work fails, as with a git that is killed, and why. */
  stalled_since?: string;
  stall_error?: string;
  /** Why no host file is in force, or what is wrong with the newest one. */
  host_problem?: string;
}

/**
 * The number of seconds without a report after which a dispatcher is stuck. @param interval seconds
 */
export function silenceLimit(interval: number): number {
  return Math.max(30, 3 * interval + 10);
}

/** It is not fsynced: a lost heartbeat only looks old. */
export function saveHeartbeat(path: string, heartbeat: Heartbeat): Promise<void> {
  return writeWhole(path, `${JSON.stringify(heartbeat, undefined, 1)}\n`);
}

/** The last heartbeat; undefined when there is none, or when another version wrote it. */
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
