import { join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { readJson, writeWhole } from './files.ts';
import { acquire } from './lock.ts';

const LOCK_WAIT_MS = 2000;

/** What was taken from a budget: a file that processes share, or in a simulation the memory. */
export interface BudgetRecord {
  /** Keeps others from the record until the answer is called. */
  lock: () => Promise<() => Promise<void>>;
  /** What was written last, from wherever it is read; undefined when there is nothing. */
  read: () => Promise<unknown>;
  write: (value: unknown) => Promise<void>;
}

/** A record in a folder of its own. A lock that is held for too long is not waited for. */
export class BudgetFile implements BudgetRecord {
  readonly #folder: string;
  readonly #path: string;

  /**
   * @param parent a folder that all transports of the user share
   * @param host what the budget is for
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
