import type { Message } from '../protocol/message.ts';

/** The links of a message that names at most this many others are always kept. */
const FEW = 64;
/** The most names that are kept of all messages together that name more. */
const MAX_NAMES = 1_000_000;

/**
 * Limits the memory for the links of messages. Nearly every message names a few others, but a
 * header has room for hundreds, and somebody may push one under thousands of paths.
 */
export class NamesRoom {
  #left = MAX_NAMES;

  /** Whether the links of a message are kept; if so, they count against the limit. */
  takes({ re, cause }: Pick<Message, 're' | 'cause'>): boolean {
    const names = re.length + cause.length;
    if (names <= FEW) return true;
    if (names > this.#left) return false;
    this.#left -= names;
    return true;
  }

  /** Releases the room of a message that is no longer kept. */
  gives({ re, cause }: Pick<Message, 're' | 'cause'>): void {
    const names = re.length + cause.length;
    if (names > FEW) this.#left += names;
  }
}
