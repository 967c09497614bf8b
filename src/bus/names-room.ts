import type { Message } from '../protocol/message.ts';

/** The links of a message that names no more than so many are always kept. */
const FEW = 64;
/** How many names are kept of all messages together that name more. */
const MAX_NAMES = 1_000_000;

/**
 * Room for the links of messages that are kept in memory. Nearly every message names a few others, but
 * a header has room for hundreds, and whoever pushes one under thousands of paths pays for it once.
 */
export class NamesRoom {
  #left = MAX_NAMES;

  /** Whether the links of a message are kept; if so, they take their room. */
  takes({ re, cause }: Pick<Message, 're' | 'cause'>): boolean {
    const names = re.length + cause.length;
    if (names <= FEW) return true;
    if (names > this.#left) return false;
    this.#left -= names;
    return true;
  }

  /** Says that the same message is no longer kept. */
  gives({ re, cause }: Pick<Message, 're' | 'cause'>): void {
    const names = re.length + cause.length;
    if (names > FEW) this.#left += names;
  }
}
