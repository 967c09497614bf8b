import type { Message } from '../protocol/message.ts';

/** Maximum number of references of a message that is always kept. */
const FEW = 64;
/** Maximum number of references that are kept of all messages with more, together. */
const MAX_NAMES = 1_000_000;

/**
 * A limit of the memory for the links of messages. Nearly every message refers to a few others, but a
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
