import { join } from 'node:path';
import { isRecord, readJson, writeWhole } from './files.ts';
import { makeFolder } from '../folder.ts';
import { acquire } from './lock.ts';

/** The limits that a remote host sets for requests; absent where there is none. */
export interface Limits {
  /** Name of the host. */
  host: string;
  pushesPerMinute?: number;
  readsPerSecond?: number;
}

/** The remainder of a budget, for `crosstalk status`. */
export interface Headroom {
  host: string;
  pushes_per_minute: number;
  /** Number of pushes in the last minute, by all transports of this user on this machine. */
  used: number;
  /** Time of the next possible push, ISO 8601 UTC; null when it is possible now. */
  next_at: string | null;
}

type Kind = 'pushes' | 'reads';

/** The recorded pushes and reads; times are milliseconds of the clock. */
interface Taken {
  pushes: number[];
  reads: number[];
  /** The processes that wait to push: start of the wait, and time of the next try. */
  waiting: Record<string, { since: number; due: number }>;
}

/** Milliseconds after its announced next try at which a process counts as gone. */
const GONE_MS = 2000;
/** Milliseconds between tries of a process whose push would be free if another one were not before it. */
const BEHIND_MS = 250;
let serial = 0;
const WINDOW_MS: Record<Kind, number> = { pushes: 60_000, reads: 1000 };

/**
 * The budget of this machine for requests to one remote host: a number of pushes in any minute and of
 * reads in any second, for all transports and processes of the user together. The budget delays pushes,
 * while more mail collects for them; it never drops one. The process that has waited longest goes first.
 * When its file cannot be written, nothing is delayed.
 */
export class RemoteBudget {
  readonly #record: BudgetRecord;
  readonly #limits: Limits | undefined;
  readonly #now: () => number;
  readonly #self = `${String(process.pid)}-${String(serial++)}`;

  /**
   * @param record shared by all transports of the user
   * @param limits undefined for a remote without limits
   * @param now milliseconds
   */
  constructor(record: BudgetRecord, limits: Limits | undefined, now: () => number) {
    this.#record = record;
    this.#limits = limits;
    this.#now = now;
  }

  /** Takes one push from the budget: returns 0, or the milliseconds until it may be possible. */
  push(): Promise<number> {
    return this.#take('pushes', this.#limits?.pushesPerMinute);
  }

  /** Takes one read from the budget: returns 0, or the milliseconds until it may be possible. */
  read(): Promise<number> {
    return this.#take('reads', this.#limits?.readsPerSecond);
  }

  /** Returns the remainder for pushes; undefined without a limit. */
  async headroom(): Promise<Headroom | undefined> {
    const limit = this.#limits?.pushesPerMinute;
    if (this.#limits === undefined || limit === undefined) return undefined;
    const { pushes } = await this.#load();
    const wait = waitFor(pushes, limit, WINDOW_MS.pushes, this.#now());
    return {
      host: this.#limits.host,
      pushes_per_minute: limit,
      used: pushes.length,
      next_at: wait === 0 ? null : new Date(this.#now() + wait).toISOString(),
    };
  }

  async #take(kind: Kind, limit: number | undefined): Promise<number> {
    if (limit === undefined) return 0;
    try {
      const release = await this.#record.lock();
      try {
        const taken = await this.#load();
        const now = this.#now();
        let wait = waitFor(taken[kind], limit, WINDOW_MS[kind], now);
        if (kind === 'pushes') wait = this.#inLine(taken, wait, now);
        if (wait === 0) taken[kind].push(now);
        else if (kind === 'reads') return wait;
        await this.#record.write(taken);
        return wait;
      } finally {
        await release();
      }
    } catch {
      return 0;
    }
  }

  /** Keeps the order of the waiting processes, and returns how long this one has to wait. */
  #inLine(taken: Taken, wait: number, now: number): number {
    const others = Object.entries(taken.waiting).filter(
      ([id, { due }]) => id !== this.#self && due + GONE_MS > now,
    );
    const since = taken.waiting[this.#self]?.since ?? now;
    const ahead = others.some(([, other]) => other.since < since);
    taken.waiting = Object.fromEntries(others);
    const longer = wait === 0 && ahead ? BEHIND_MS : wait;
    if (longer > 0) taken.waiting[this.#self] = { since, due: now + longer };
    return longer;
  }

  /**
   * Loads the entries within the windows; a time that seems to be in the future is from before the clock
   * was set back.
   */
  async #load(): Promise<Taken> {
    const value = await this.#record.read();
    const now = this.#now();
    const within = (kind: Kind): number[] => {
      const times: unknown = isRecord(value) ? value[kind] : undefined;
      return (Array.isArray(times) ? times : []).filter(
        (time): time is number =>
          typeof time === 'number' && time <= now && time > now - WINDOW_MS[kind],
      );
    };
    const waiting = isRecord(value) && isRecord(value['waiting']) ? value['waiting'] : {};
    const valid = Object.entries(waiting).filter(
      (entry): entry is [string, { since: number; due: number }] =>
        isRecord(entry[1]) &&
        typeof entry[1]['since'] === 'number' &&
        typeof entry[1]['due'] === 'number' &&
        entry[1]['since'] <= now,
    );
    return {
      pushes: within('pushes'),
      reads: within('reads'),
      waiting: Object.fromEntries(valid),
    };
  }
}

/** Returns the milliseconds until fewer than `limit` of the times lie within the window. */
export function waitFor(
  times: readonly number[],
  limit: number,
  window: number,
  now: number,
): number {
  const oldest = [...times].sort((a, b) => a - b).at(-limit);
  return oldest === undefined ? 0 : Math.max(1, oldest + window - now);
}

const LOCK_WAIT_MS = 2000;

/** The record of a budget: a file that processes share, or in a simulation the memory. */
export interface BudgetRecord {
  /** Locks the record until the returned function is called. */
  lock: () => Promise<() => Promise<void>>;
  /** Reads the last written value, as unverified input; undefined when there is none. */
  read: () => Promise<unknown>;
  write: (value: unknown) => Promise<void>;
}

/** A record in a folder of its own. A lock that is held for too long is ignored. */
export class BudgetFile implements BudgetRecord {
  readonly #folder: string;
  readonly #path: string;

  /**
   * @param parent a folder that all transports of the user share
   * @param host the host that the budget applies to
   */
  constructor(parent: string, host = 'none') {
    this.#folder = join(parent, host);
    this.#path = join(parent, host, 'taken.json');
  }

  async lock(): Promise<() => Promise<void>> {
    await makeFolder(this.#folder, 0o700);
    const lock = await acquire(this.#folder, 'budget', { wait: LOCK_WAIT_MS });
    return lock.ok ? lock.release : () => Promise.resolve();
  }

  async read(): Promise<unknown> {
    return (await readJson(this.#path))?.value;
  }

  write(value: unknown): Promise<void> {
    return writeWhole(this.#path, JSON.stringify(value));
  }
}
