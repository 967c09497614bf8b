import type { Message } from '../protocol/message.ts';

/** A message that names so many is always kept. */
const FEW = 64;
/** Names that are kept of messages that name more, all together. */
const MAX_NAMES = 1_000_000;

/**
 * Room for the links of messages that are kept in memory. Nearly every message names a few others, but
 * a header has room for hundreds, and whoever pushes one under thousands of paths pays for it once.
 */
export class NamesRoom {
  #left = MAX_NAMES;

  /** Whether the links of a message are kept; those that are take their room. */
  takes({ re, cause }: Pick<Message, 're' | 'cause'>): boolean {
    const names = re.length + cause.length;
    if (names <= FEW) return true;
    if (names > this.#left) return false;
    this.#left -= names;
    return true;
  }

  /** The same message is kept no more. */
  gives({ re, cause }: Pick<Message, 're' | 'cause'>): void {
    const names = re.length + cause.length;
    if (names > FEW) this.#left += names;
  }
}
