import { findBackend, type Backend } from './bubblewrap.ts';

/** Milliseconds after which a machine that can make no sandbox is asked again. */
const AGAIN_MS = 30_000;

/** Whether this machine can make sandboxes; that is tried when the first one is wanted. */
export class Sandboxes {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #now: () => Date;
  #found: Promise<Backend> | undefined;
  #askAgain = Infinity;

  constructor(environment: NodeJS.ProcessEnv, now: () => Date) {
    this.#environment = environment;
    this.#now = now;
  }

  /** What this machine makes sandboxes with. One that can is not asked again. */
  async backend(): Promise<Backend> {
    const now = this.#now().getTime();
    if (this.#found === undefined || now >= this.#askAgain) {
      this.#askAgain = Infinity;
      this.#found = findBackend(this.#environment);
    }
    const found = await this.#found;
    if (!found.ok && this.#askAgain === Infinity) this.#askAgain = now + AGAIN_MS;
    return found;
  }

  /** When a machine that could make none is asked again; undefined while there is nothing to ask. */
  get next(): Date | undefined {
    return Number.isFinite(this.#askAgain) ? new Date(this.#askAgain) : undefined;
  }
}
