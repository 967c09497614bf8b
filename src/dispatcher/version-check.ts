import type { Log } from '../log.ts';

/**
 * Why a running dispatcher processes nothing just now: the transport's version is not ours (protocol.md
 * §1). It is said once, and once when it is ours again.
 */
export class VersionCheck {
  readonly #log: Log;
  #refused: string | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  get refused(): string | undefined {
    return this.#refused;
  }

  /** @param refused why, as the newest tick has found it */
  note(refused: string | undefined): void {
    if (refused !== undefined && refused !== this.#refused)
      this.#log('version_refused', { problem: refused });
    if (refused === undefined && this.#refused !== undefined) this.#log('version_accepted');
    this.#refused = refused;
  }
}
