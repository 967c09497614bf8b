import { readFileSync } from 'node:fs';
import type { Tier } from '../protocol/files/host-file.ts';

/** The files that a run keeps open here: the pipes of its CLI, its socket, its drop folder, its transcript. */
const FILES_OF_RUN = 10;
/** Open files that are reserved for git, for the state directory and for commands that ask. */
const OTHER_FILES = 44;

/** Returns the most runs that may be under way at a time, by the number of files that this process may have open. */
export function mostRuns(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const files = /^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity;
    return Math.max(1, Math.floor((Number(files) - OTHER_FILES) / FILES_OF_RUN));
  } catch {
    // Other systems do not say it, and give enough.
    return Infinity;
  }
}

/** Counts the current runs of each actor's tiers, up to their `count` (protocol.md §6). */
export class Slots {
  readonly #most: number;
  #busy = new Map<string, number>();
  #all = 0;

  /** @param most the runs of all tiers together */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a slot for one run; false when the tier has no free slot. */
  enter(actor: string, tier: Tier): boolean {
    if (!this.isFree(actor, tier)) return false;
    const key = `${actor} ${tier.name}`;
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
    this.#all++;
    return true;
  }

  /** Whether a tier has a place left. */
  isFree(actor: string, tier: Tier): boolean {
    const busy = this.#busy.get(`${actor} ${tier.name}`) ?? 0;
    return busy < tier.count && this.#all < this.#most;
  }

  leave(actor: string, tier: Tier): void {
    const key = `${actor} ${tier.name}`;
    this.#busy.set(key, Math.max(0, (this.#busy.get(key) ?? 0) - 1));
    this.#all--;
  }
}
