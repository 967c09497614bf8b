import {
  CHUNK,
  readFiles,
  type Arrival,
  type MessageFile,
  newestFirst,
} from '../lookup/arrivals.ts';
import type { Context } from '../context.ts';

/**
 * The messages of one channel at a commit, from the newest back. Only requested messages are read,
 * so the first ones arrive equally fast from long and short channels.
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
   * Returns the next older messages, oldest first; files that cannot be read as messages are left out.
   *
   * @param count about how many messages to return
   * @returns `more`: whether there may be still older ones
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
