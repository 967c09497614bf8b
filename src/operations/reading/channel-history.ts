import { CHUNK, readFiles, type Arrival, type MessageFile } from '../lookup/arrivals.ts';
import type { Context } from '../context.ts';
import { newestFirst } from '../lookup/newest.ts';

/**
 * The messages of one channel as they are at a commit, from the newest back. Only what is asked for
 * is read, so that the first ones come as soon from a long channel as from a short one.
 */
export class ChannelHistory {
  readonly #context: Context;
  readonly #days: AsyncGenerator<MessageFile[]>;
  #unread: MessageFile[] = [];
  #ended = false;

  /** @param channel its id */
  constructor(context: Context, tip: string, channel: string) {
    this.#context = context;
    this.#days = newestFirst(context, tip, [channel], '');
  }

  /**
   * The next older ones, oldest first; those that cannot be read as a message are left out.
   *
   * @param count about how many
   * @returns `more`: whether there may be older ones still
   */
  async older(count: number): Promise<{ messages: Arrival[]; more: boolean }> {
    const found: Arrival[] = [];
    while (found.length < count && (await this.#fill(count))) {
      const part = this.#unread.splice(0, Math.min(CHUNK, count - found.length));
      found.push(...(await readFiles(this.#context, part)));
    }
    return { messages: found.reverse(), more: !this.#ended || this.#unread.length > 0 };
  }

  /** Days with few messages are read together. */
  async #fill(count: number): Promise<boolean> {
    while (!this.#ended && this.#unread.length < count) {
      const day = await this.#days.next();
      if (day.done === true) this.#ended = true;
      else this.#unread.push(...day.value);
    }
    return this.#unread.length > 0;
  }
}
