import { CHANNELS, SHOWN_FOLDERS } from '../protocol/layout.ts';
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

  constructor(transport: Transport, now: () => Date) {
    this.#transport = transport;
    this.#now = now;
  }

  async follow(): Promise<CheckoutState> {
    return this.#transport.fastForward(await this.#folders());
  }

  /** The folders that are shown; undefined for all that a checkout may show. */
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
