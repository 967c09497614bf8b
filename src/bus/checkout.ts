import { dirname } from 'node:path';
import { reasonOf } from '../errors.ts';
import { CHANNELS, SHOWN_FOLDERS, isChannelId } from '../protocol/layout.ts';
import { parseWindow, windowFolders } from '../protocol/window.ts';
import { acquire } from '../state/lock.ts';
import { Cell } from '../store/rows.ts';
import type { CheckoutState, Transport } from '../transport/transport.ts';

/** Milliseconds to wait for another process that moves the checkout. */
const WAIT_MS = 3000;

/**
 * A checkout that follows the bus: it is fast-forwarded when that is safe, and limited to the days of
 * `git config crosstalk.window`, so that a large transport does not need a large folder. Messages are
 * read from git's objects in any case.
 */
export class Checkout {
  readonly #transport: Transport;
  readonly #now: () => Date;
  readonly #left: Cell<{ reason: string }>;
  #isBusy = false;

  constructor(transport: Transport, now: () => Date) {
    this.#transport = transport;
    this.#now = now;
    this.#left = new Cell(dirname(transport.own), 'checkout');
  }

  /** Returns the reason why the checkout was left as it is at the last try of this machine. */
  async left(): Promise<string | undefined> {
    return (await this.#left.get())?.reason;
  }

  /**
   * Whether the checkout was left to another process the last time, which may know less of the bus.
   */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /**
   * Updates the checkout, one process at a time: two processes that move it to different commits would
   * undo each other's work.
   */
  async follow(): Promise<CheckoutState> {
    const left = (reason: string): CheckoutState => ({ state: 'left', reason });
    const taking = acquire(this.#transport.own, 'checkout', { wait: WAIT_MS });
    const lock = await taking.catch(reasonOf);
    this.#isBusy = typeof lock === 'object' && !lock.ok;
    if (typeof lock === 'string') return left(lock);
    if (!lock.ok) return left(`process ${String(lock.holder.pid)} is bringing it along just now`);
    try {
      // The checkout follows after the request was carried out, so a failure is not reported.
      const followed = await this.#folders()
        .then((folders) => this.#transport.fastForward(folders))
        .catch((error: unknown) => left(reasonOf(error)));
      await this.#note(followed).catch(() => undefined);
      return followed;
    } finally {
      await lock.release();
    }
  }

  async #note(followed: CheckoutState): Promise<void> {
    const reason = followed.state === 'left' ? followed.reason : undefined;
    if (reason === (await this.left())) return;
    await this.#left.set(reason === undefined ? undefined : { reason });
  }

  /** Returns the folders that are shown; undefined for all folders that a checkout may show. */
  async #folders(): Promise<readonly string[] | undefined> {
    const days = parseWindow(this.#transport.window ?? 'all');
    if (typeof days !== 'number')
      return this.#transport.origin === undefined ? undefined : SHOWN_FOLDERS;
    const tip = await this.#transport.tip();
    if (tip === undefined) return undefined;
    const entries = await this.#transport.list(tip, [CHANNELS]);
    const channels = entries.map(({ path }) => path.slice(CHANNELS.length + 1)).filter(isChannelId);
    return windowFolders(channels, days, this.#now());
  }
}
