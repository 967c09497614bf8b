import type { Tier } from '../protocol/host-file.ts';
import { readPause, type Pause } from '../state/pause.ts';
import type { RunBudget } from '../state/run-budget.ts';
import type { Log } from './log.ts';

/** Why mail waits although its actor could run. */
export interface Parked {
  actor: string;
  tier: string;
  reason: 'max_runs_per_hour';
  /** When it goes on by itself, ISO 8601 UTC. */
  until: string;
}

export interface GuardsParts {
  pauseFile: string;
  budget: RunBudget;
  log: Log;
  now: () => Date;
}

/**
 * What keeps a runaway from costing money, out of reach of any message: a pause for the whole
 * machine and a number of runs an hour for each tier. Mail stays in its mailbox meanwhile.
 */
export class Guards {
  readonly #parts: GuardsParts;
  readonly #parked = new Map<string, Parked>();
  #pause: Pause | undefined;

  constructor(parts: GuardsParts) {
    this.#parts = parts;
  }

  /** The tiers whose hour is used up. */
  get parked(): Parked[] {
    return [...this.#parked.values()];
  }

  async paused(): Promise<boolean> {
    const pause = await readPause(this.#parts.pauseFile);
    if (pause !== undefined && this.#pause === undefined) {
      this.#parts.log('parked', { reason: 'paused', since: pause.since, by: pause.by });
    }
    this.#pause = pause;
    return pause !== undefined;
  }

  async allows(actor: string, tier: Tier): Promise<boolean> {
    const key = `${actor} ${tier.name}`;
    const now = this.#parts.now().getTime();
    const next = await this.#parts.budget.nextStart(actor, tier.name, tier.maxRunsPerHour, now);
    if (next === undefined) {
      this.#parked.delete(key);
      return true;
    }
    const parked = {
      actor,
      tier: tier.name,
      reason: 'max_runs_per_hour' as const,
      until: next.toISOString(),
    };
    if (!this.#parked.has(key))
      this.#parts.log('parked', { ...parked, limit: tier.maxRunsPerHour });
    this.#parked.set(key, parked);
    return false;
  }

  noteStart(actor: string, tier: Tier): Promise<void> {
    return this.#parts.budget.note(actor, tier.name, this.#parts.now().getTime());
  }
}
