import { findBackend, type Backend } from './bubblewrap.ts';

/** Milliseconds after which a machine that cannot make sandboxes is checked again. */
const AGAIN_MS = 30_000;

/** A cached check of whether this machine can make sandboxes, made when the first one is wanted. */
export class Sandboxes {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #now: () => Date;
  #found: Promise<Backend> | undefined;
  #askAgain = Infinity;

  constructor(environment: NodeJS.ProcessEnv, now: () => Date) {
    this.#environment = environment;
    this.#now = now;
  }

  /** Returns the program for sandboxes. A machine that has one is not checked again. */
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

  /** Time of the next check of a machine that cannot make sandboxes; undefined if none is due. */
  get next(): Date | undefined {
    return Number.isFinite(this.#askAgain) ? new Date(this.#askAgain) : undefined;
  }
}
