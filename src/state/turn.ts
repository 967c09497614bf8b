import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeWhole } from './files.ts';
import { acquire, isHeld, type Acquired } from './lock.ts';

/** A turn that was taken. */
export interface Taken {
  /** What the branch stood at when the last turn ended; undefined when nobody said. */
  tip: string | undefined;
  /** Ends it, saying what the branch stands at now, if we moved it. */
  end: (tip?: string) => Promise<void>;
}

/** Milliseconds to wait for the turn; after that git arbitrates. */
const LONGEST_WAIT_MS = 10_000;
const LOOK_MS = 40;
/** So often one that looks taken is asked whether its holder lives. */
const ASK_MS = 1000;
/** Whoever lost a race takes turns for this long. */
const CONTENDED_MS = 30_000;

/**
 * Turns that the clones of one remote on this machine take at pushing (protocol.md §10), so that
 * they do not reject one another. Advisory: nobody waits long, and where a turn cannot be had for
 * whatever reason one goes ahead and lets git arbitrate, which costs a retry at worst.
 *
 * Taken only while others push: after a lost race, or when somebody has the turn just now. A lone
 * host pays one look at a file.
 */
export class Turns {
  readonly #folder: string;
  readonly #now: () => number;
  #contendedUntil = 0;

  /**
   * @param parent a folder that all transports of the user share
   * @param remote names the remote and branch
   * @param now milliseconds
   */
  constructor(parent: string, remote: string, now: () => number = Date.now) {
    this.#folder = join(parent, createHash('sha256').update(remote).digest('hex').slice(0, 16));
    this.#now = now;
  }

  /** Says that others push too. */
  lostRace(): void {
    this.#contendedUntil = this.#now() + CONTENDED_MS;
  }

  /** Waits by looking whether there is a lock, which is far cheaper than trying to take it. */
  async #wait(): Promise<Acquired | undefined> {
    const deadline = this.#now() + LONGEST_WAIT_MS;
    let ask = this.#now() + ASK_MS;
    while (this.#now() < deadline) {
      const free = !(await isHeld(this.#folder, 'turn'));
      if (free || this.#now() > ask) {
        ask = this.#now() + ASK_MS;
        const lock = await acquire(this.#folder, 'turn', { wait: 0 });
        if (lock.ok) return lock;
      }
      await sleep(Math.random() * LOOK_MS);
    }
    return undefined;
  }

  /** The turn, if turns are being taken and it can be had. */
  async take(): Promise<Taken | undefined> {
    try {
      if (this.#now() > this.#contendedUntil && !(await isHeld(this.#folder, 'turn'))) {
        return undefined;
      }
      const lock = await this.#wait();
      if (lock?.ok !== true) return undefined;
      const last = join(this.#folder, 'tip');
      const tip = (await readFile(last, 'utf8').catch(() => '')).trim();
      return {
        tip: tip === '' ? undefined : tip,
        end: async (moved) => {
          if (moved !== undefined) await writeWhole(last, moved).catch(() => undefined);
          await lock.release();
        },
      };
    } catch {
      // A folder that cannot be written: without turns, as from different machines.
      return undefined;
    }
  }
}
