import type { DispatcherApp } from '../../bus/app.ts';

const REASON = 'the remote shows an older state than before; waiting for what it has shown already';

/**
 * Distinguishes a remote that answers with an older state for a while, as one of several lagging mirrors does, from a
 * branch that was set back. The older state has to be a part of the history that was known, and nothing else: as soon
 * as anything stands on it, or when it stays for as long as its patience, the branch was set back.
 */
export class Lag {
  readonly #app: Pick<DispatcherApp, 'transport' | 'log' | 'now'>;
  readonly #patience: () => number;
  /** The newest commit that the remote has shown, since it shows an older one; and since when, in milliseconds. */
  #behind: { newest: string; since: number } | undefined;

  /** @param patience gives the milliseconds for which an older state is waited out */
  constructor(app: Pick<DispatcherApp, 'transport' | 'log' | 'now'>, patience: () => number) {
    this.#app = app;
    this.#patience = patience;
  }

  /**
   * Returns the commit to wait for instead of following the tip that the remote shows.
   *
   * @param known the commits at which the branch was known to be before the remote was asked, the newest first
   * @returns the commit that it has shown before; undefined to go by `tip`
   */
  async insteadOf(tip: string, known: readonly string[]): Promise<string | undefined> {
    const { log, now } = this.#app;
    const time = now().getTime();
    const newest = await this.#newerOf(this.#behind ? [this.#behind.newest] : known, tip);
    const { since } = this.#behind ?? { since: time };
    if (newest === undefined || time - since > this.#patience()) {
      this.#behind = undefined;
      return undefined;
    }
    if (this.#behind === undefined) log('remote_behind', { tip, newest, reason: REASON });
    this.#behind = { newest, since };
    return newest;
  }

  /** Returns the first of some commits to which history goes on from `tip`. */
  async #newerOf(commits: readonly string[], tip: string): Promise<string | undefined> {
    const { transport } = this.#app;
    for (const commit of new Set(commits)) {
      if (commit === tip || (await transport.isAncestor(commit, tip))) continue;
      // A commit that has gone from the clone, with its history, is nothing to wait for.
      if (await transport.isAncestor(tip, commit).catch(() => false)) return commit;
    }
    return undefined;
  }
}
