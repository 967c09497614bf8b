import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { writeWhole } from './files.ts';
import { Seal } from '../store/seal.ts';
import { acquire, isNamed } from './lock.ts';

/**
 * The board on which processes that share a branch see the holder of the turn and the waiting ones: a
 * folder, or in a simulation the memory.
 */
export interface TurnBoard {
  /** Whether somebody has the turn: the cheapest check. */
  isTaken: () => Promise<boolean>;
  /** Creates the board, unless it exists. */
  open: () => Promise<void>;
  /** Takes the turn, and returns the function that ends it; undefined when somebody else has it. */
  take: () => Promise<(() => Promise<void>) | undefined>;
  /** The commit that the branch was at after the last turn; undefined when none was recorded. */
  lastTip: () => Promise<string | undefined>;
  setLastTip: (tip: string) => Promise<void>;
  /** Lists the names of the waiting tickets, the oldest first. */
  tickets: () => Promise<string[]>;
  /** Returns a name for a ticket; the names of older ones sort first. */
  newTicket: (since: number) => string;
  /** Leaves a ticket, or leaves it once more, with its owner's entries to push. */
  leave: (ticket: string, offer: string) => Promise<void>;
  /** Reads the entries that the owner of a ticket would push; empty when they are not known. */
  offer: (ticket: string) => Promise<string>;
  /** Waits until a ticket is called, at most for some milliseconds. */
  called: (ticket: string, longest: number) => Promise<void>;
  /** Notifies a ticket's owner. */
  call: (ticket: string) => Promise<void>;
  /** Notifies a ticket's owner that their entries are on the remote, at a tip. */
  tellDone: (ticket: string, tip: string) => Promise<void>;
  /** Returns the tip of {@link tellDone}. */
  doneAt: (ticket: string) => Promise<string | undefined>;
  /** Removes a ticket, with its other files. */
  forget: (ticket: string) => Promise<void>;
  /** Removes tickets older than a time, left by processes that are dead. */
  sweep: (before: number) => Promise<void>;
}

const DONE = '.done';

let serial = 0;

/** A board in a folder. A ticket is a file there; removing it notifies the process that watches it. */
export class TurnFolder implements TurnBoard {
  readonly #folder: string;
  readonly #queue: string;
  readonly #seal: Seal;
  readonly #last: string;

  /**
   * @param parent a folder that all transports of the user share
   * @param remote names the remote and branch
   */
  constructor(parent: string, remote: string) {
    const name = createHash('sha256').update(remote).digest('hex').slice(0, 16);
    this.#folder = join(parent, name);
    this.#queue = join(parent, name, 'queue');
    this.#seal = Seal.of(this.#folder);
    this.#last = join(parent, name, 'tip');
  }

  isTaken(): Promise<boolean> {
    return Promise.resolve(isNamed(this.#folder, 'turn'));
  }

  async open(): Promise<void> {
    await makeFolder(this.#queue, 0o700);
  }

  async take(): Promise<(() => Promise<void>) | undefined> {
    const lock = await acquire(this.#folder, 'turn', { wait: 0 });
    return lock.ok ? lock.release : undefined;
  }

  async lastTip(): Promise<string | undefined> {
    const tip = (await readFile(this.#last, 'utf8').catch(() => '')).trim();
    return tip === '' ? undefined : tip;
  }

  async setLastTip(tip: string): Promise<void> {
    await writeWhole(this.#last, tip).catch(() => undefined);
  }

  async tickets(): Promise<string[]> {
    const names = await readdir(this.#queue).catch(() => []);
    return names.filter((name) => /^\d{16}-\d+-\d+$/.test(name)).sort();
  }

  newTicket(since: number): string {
    return `${String(since).padStart(16, '0')}-${String(process.pid)}-${String(serial++)}`;
  }

  leave(ticket: string, offer: string): Promise<void> {
    return writeWhole(this.#path(ticket), this.#seal.close(ticket, { offer }));
  }

  async offer(ticket: string): Promise<string> {
    const text = await readFile(this.#path(ticket), 'utf8').catch(() => '');
    // Only sealed entries count: another process would publish whatever somebody has put there.
    const { offer } = JSON.parse(this.#seal.open(ticket, text) ?? '{}') as { offer?: string };
    return offer ?? '';
  }

  /** Waits until the ticket's file is removed, or until the timeout. */
  called(ticket: string, longest: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        watcher?.close();
        resolve();
      };
      const timer = setTimeout(done, longest);
      let watcher: ReturnType<typeof watch> | undefined;
      try {
        watcher = watch(this.#path(ticket), done);
        watcher.on('error', done);
      } catch {
        // The file is gone already, or the system has no watches: the waiting process polls.
        done();
      }
    });
  }

  call(ticket: string): Promise<void> {
    return rm(this.#path(ticket), { force: true });
  }

  async tellDone(ticket: string, tip: string): Promise<void> {
    const path = this.#path(ticket);
    await writeWhole(`${path}${DONE}`, tip).catch(() => undefined);
    await rm(path, { force: true });
  }

  doneAt(ticket: string): Promise<string | undefined> {
    return readFile(`${this.#path(ticket)}${DONE}`, 'utf8').catch(() => undefined);
  }

  async forget(ticket: string): Promise<void> {
    await rm(this.#path(ticket), { force: true });
    await rm(`${this.#path(ticket)}${DONE}`, { force: true });
  }

  async sweep(before: number): Promise<void> {
    for (const name of await readdir(this.#queue).catch(() => []))
      if (Number(name.slice(0, 16)) < before) await rm(join(this.#queue, name), { force: true });
  }

  #path(ticket: string): string {
    return join(this.#queue, ticket);
  }
}
