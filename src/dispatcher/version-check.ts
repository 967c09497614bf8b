import type { Log } from '../log.ts';

/**
 * Remembers why a running dispatcher processes nothing: the transport's version is not supported
 * (protocol.md §1). This is logged once, and once more when the version is supported again.
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

  /** @param refused the reason that the newest tick found */
  note(refused: string | undefined): void {
    if (refused !== undefined && refused !== this.#refused)
      this.#log('version_refused', { problem: refused });
    if (refused === undefined && this.#refused !== undefined) this.#log('version_accepted');
    this.#refused = refused;
  }
}
