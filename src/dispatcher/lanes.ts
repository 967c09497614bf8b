import type { Tier } from '../protocol/files/host-file.ts';

/** Counts the current runs of each actor's tiers, up to their `count` (protocol.md §6). */
export class Lanes {
  #busy = new Map<string, number>();

  /** Takes a place for one run; false when the tier has no free place. */
  enter(actor: string, tier: Tier): boolean {
    const key = `${actor} ${tier.name}`;
    const busy = this.#busy.get(key) ?? 0;
    if (busy >= tier.count) return false;
    this.#busy.set(key, busy + 1);
    return true;
  }

  /** Whether a tier has a place left. */
  isFree(actor: string, tier: Tier): boolean {
    return (this.#busy.get(`${actor} ${tier.name}`) ?? 0) < tier.count;
  }

  leave(actor: string, tier: Tier): void {
    const key = `${actor} ${tier.name}`;
    this.#busy.set(key, Math.max(0, (this.#busy.get(key) ?? 0) - 1));
  }
}
