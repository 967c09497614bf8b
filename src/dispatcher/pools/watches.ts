import type { Claims } from '../../bus/claims.ts';
import type { ClaimRecords, WatchRow } from '../../state/claims.ts';

interface WatchesApp {
  now: () => Date;
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number;
}

/**
 * Times for which the signs of life of other hosts' claims were seen unchanged: what counts is the time between
 * fetches that succeeded, by a clock that nobody sets. It is kept beyond a start.
 */
export class Watches {
  readonly #rows: ClaimRecords['watches'];
  readonly #app: WatchesApp;
  readonly #watched = new Map<string, WatchRow & { last: number; until: number }>();
  /** Time of the last fetch that succeeded. */
  #asked: number;

  constructor({ watches }: ClaimRecords, app: WatchesApp) {
    this.#rows = watches;
    this.#app = app;
    this.#asked = app.monotonic();
  }

  /** Notes that the remote has answered. */
  asked(): void {
    this.#asked = this.#app.monotonic();
  }

  /** Goes on with what an earlier start has seen. */
  async load(): Promise<void> {
    for (const row of await this.#rows.all())
      this.#watched.set(row.id, { ...row, last: this.#asked, until: 0 });
  }

  /** Whether the lease of a claim is over. @param key the folder of the claims */
  hasRunOut(key: string, { n, claim, beat, beatOid }: Claims): boolean {
    const lease = beat?.lease ?? claim.lease;
    const known = this.#watched.get(key);
    const isSame = known?.n === n && known.beat === beatOid;
    const { seen, last } = isSame ? known : { seen: 0, last: this.#asked };
    const more = this.#asked - last;
    const row = { id: key, n, beat: beatOid, seen: seen + more };
    const until = this.#app.now().getTime() + Math.max(0, lease - row.seen);
    this.#watched.set(key, { ...row, last: this.#asked, until });
    if (more > lease / 20) void this.#rows.put(row).catch(() => undefined);
    return row.seen >= lease;
  }

  /** Forgets a message that is settled. */
  drop(key: string): void {
    if (this.#watched.delete(key)) void this.#rows.remove(key).catch(() => undefined);
  }

  /** Returns when leases are over, in milliseconds since 1970. */
  ends(): number[] {
    return [...this.#watched.values()].map(({ until }) => until);
  }
}
