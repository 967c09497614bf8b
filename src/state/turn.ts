import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from './files.ts';
import { acquire, isHeld, type Acquired } from './lock.ts';

/** A turn that was taken. */
export interface Turn {
  kind: 'turn';
  /** The commit that the branch was at when the last turn ended; undefined when nobody said. */
  tip: string | undefined;
  /** What those who wait would push, which may be taken along. */
  waiting: { ticket: string; offer: string }[];
  /**
   * Ends the turn, and says which commit the branch is at now, if we moved it, and whose entries
   * were taken along.
   */
  end: (tip?: string, taken?: readonly string[]) => Promise<void>;
}

/** `done`: somebody took our entries along in their turn, and the branch is at `tip` since then. */
export type Taken = Turn | { kind: 'done'; tip: string };

/** Milliseconds to wait for the turn; after that git arbitrates. */
export const LONGEST_WAIT_MS = 10_000;
/**
 * A waiting process that is not called looks on its own this often: the one that should call it may
 * have died.
 */
export const LOOK_MS = 500;
/** No process waits for so long: an older ticket is left over. */
const ABANDONED_MS = 60_000;
/** A process that lost a race takes turns for this long. */
export const CONTENDED_MS = 30_000;

/** So many of those who wait are taken along. */
export const MAX_ALONG = 100;
const DONE = '.done';

let serial = 0;

/**
 * Turns that the clones of one remote on this machine take at pushing (protocol.md §10), so that
 * they do not reject one another. Turns are advisory: nobody waits long, and a process that gets no
 * turn, for whatever reason, goes ahead and lets git arbitrate, which costs a retry at worst.
 *
 * Turns are taken only while others push: after a lost race, or when somebody has the turn at the
 * moment. A lone host pays one look at a file.
 *
 * First come, first served: who has to wait leaves a ticket and watches it; whoever ends a turn
 * removes the oldest, which calls its owner. Sixteen processes that poll would take more of the
 * machine than what they wait for. A ticket says what its owner would push. Whoever has the turn
 * may push that along with their own entries, says so beside the ticket (`.done`), and removes the
 * ticket: then sixteen pushes become one. An owner that was not told, or died, pushes itself, and
 * finds its entries on the remote.
 */
export class Turns {
  readonly #folder: string;
  readonly #queue: string;
  readonly #now: () => number;
  #contendedUntil = 0;

  /**
   * @param parent a folder that all transports of the user share
   * @param remote names the remote and branch
   * @param now milliseconds
   */
  constructor(parent: string, remote: string, now: () => number) {
    const name = createHash('sha256').update(remote).digest('hex').slice(0, 16);
    this.#folder = join(parent, name);
    this.#queue = join(parent, name, 'queue');
    this.#now = now;
  }

  /** Says that others push too. */
  lostRace(): void {
    this.#contendedUntil = this.#now() + CONTENDED_MS;
  }

  /** The turn, if turns are being taken and it can be had before `signal` is aborted. */
  async take(offer: string, signal?: AbortSignal): Promise<Taken | undefined> {
    try {
      if (this.#now() > this.#contendedUntil && !(await isHeld(this.#folder, 'turn'))) {
        return undefined;
      }
      await mkdir(this.#queue, { recursive: true, mode: 0o700 });
      const lock = await this.#wait(offer, signal);
      if (lock?.kind === 'done') return lock;
      if (lock?.ok !== true) return undefined;
      const last = join(this.#folder, 'tip');
      const tip = (await readFile(last, 'utf8').catch(() => '')).trim();
      return {
        kind: 'turn',
        tip: tip === '' ? undefined : tip,
        waiting: await this.#offers(),
        end: async (moved, taken = []) => {
          if (moved !== undefined) {
            await writeWhole(last, moved).catch(() => undefined);
            for (const ticket of taken) await this.#tellDone(ticket, moved);
          }
          await lock.release();
          await this.#callNext();
        },
      };
    } catch {
      // A folder that cannot be written: without turns, as from different machines.
      return undefined;
    }
  }

  async #wait(
    offer: string,
    signal: AbortSignal | undefined,
  ): Promise<(Acquired & { kind?: undefined }) | { kind: 'done'; tip: string } | undefined> {
    if ((await this.#tickets()).length === 0) {
      const lock = await acquire(this.#folder, 'turn', { wait: 0 });
      if (lock.ok) return lock;
    }
    const begun = this.#now();
    const name = `${String(begun).padStart(16, '0')}-${String(process.pid)}-${String(serial++)}`;
    const ticket = join(this.#queue, name);
    try {
      for (let waited = 0; waited < LONGEST_WAIT_MS; waited = this.#now() - begun) {
        if (signal?.aborted === true) return undefined;
        // Under its first name again, if somebody slipped in when it was called: it stays the oldest.
        await writeWhole(ticket, offer);
        await called(ticket);
        const tip = await readFile(`${ticket}${DONE}`, 'utf8').catch(() => undefined);
        if (tip !== undefined) return { kind: 'done', tip };
        const lock = await acquire(this.#folder, 'turn', { wait: 0 });
        if (lock.ok) return lock;
      }
      return undefined;
    } finally {
      await rm(ticket, { force: true });
      await rm(`${ticket}${DONE}`, { force: true });
    }
  }

  async #offers(): Promise<Turn['waiting']> {
    const tickets = (await this.#tickets()).slice(0, MAX_ALONG);
    const read = tickets.map(async (ticket) => ({
      ticket,
      offer: await readFile(join(this.#queue, ticket), 'utf8').catch(() => ''),
    }));
    return (await Promise.all(read)).filter(({ offer }) => offer !== '');
  }

  async #tellDone(ticket: string, tip: string): Promise<void> {
    const path = join(this.#queue, ticket);
    await writeWhole(`${path}${DONE}`, tip).catch(() => undefined);
    await rm(path, { force: true });
  }

  /** Calls the process that has waited longest, and clears away what dead processes have left. */
  async #callNext(): Promise<void> {
    for (const name of await readdir(this.#queue).catch(() => [])) {
      if (this.#now() - Number(name.slice(0, 16)) > ABANDONED_MS)
        await rm(join(this.#queue, name), { force: true });
    }
    const [oldest] = await this.#tickets();
    if (oldest !== undefined) await rm(join(this.#queue, oldest), { force: true });
  }

  async #tickets(): Promise<string[]> {
    const names = await readdir(this.#queue).catch(() => []);
    return names.filter((name) => /^\d{16}-\d+-\d+$/.test(name)).sort();
  }
}

/** Waits until a file is removed, or for a while. */
function called(ticket: string): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      watcher?.close();
      resolve();
    };
    const timer = setTimeout(done, LOOK_MS);
    let watcher: ReturnType<typeof watch> | undefined;
    try {
      watcher = watch(ticket, done);
      watcher.on('error', done);
    } catch {
      // The file is gone already, or the system has no watches: the waiting process looks on its
      // own.
      done();
    }
  });
}
