import { CHANNELS } from '../protocol/layout.ts';
import { isChannelId } from '../protocol/names.ts';
import { parseWindow, windowFolders } from '../protocol/window.ts';
import type { CheckoutState, Transport } from '../transport/transport.ts';

/**
 * A checkout that follows the bus: fast-forwarded where that is safe, and kept to the days of
 * `git config crosstalk.window`, so that a large transport is no large folder. Messages are read
 * from git's objects in any case.
 */
export class Checkout {
  readonly #transport: Transport;
  readonly #now: () => Date;
  #kept: string | undefined;

  constructor(transport: Transport, now: () => Date) {
    this.#transport = transport;
    this.#now = now;
  }

  async follow(): Promise<CheckoutState> {
    const days = parseWindow(this.#transport.window ?? 'all');
    // The window comes first, or files that are not to be shown would be written and taken away.
    if (typeof days === 'number') await this.#keepTo(days);
    return this.#transport.fastForward();
  }

  /** Shows everything again. */
  async widen(): Promise<void> {
    this.#kept = undefined;
    await this.#transport.keepTo(undefined);
  }

  /** When a channel or a day came since the last time. */
  async #keepTo(days: number): Promise<void> {
    const tip = await this.#transport.tip();
    if (tip === undefined || !(await this.#transport.isCheckedOut())) return;
    const entries = await this.#transport.list(tip, [CHANNELS]);
    const channels = entries.map(({ path }) => path.slice(CHANNELS.length + 1)).filter(isChannelId);
    const folders = windowFolders(channels, days, this.#now());
    const wanted = folders.join('\n');
    if (wanted === this.#kept) return;
    const failure = await this.#transport.keepTo(folders);
    if (failure === undefined) this.#kept = wanted;
  }
}
