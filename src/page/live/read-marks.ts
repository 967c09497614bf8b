import type { WebChannel } from '../../api/api.ts';
import type { Shelf } from './drafts.ts';

/** Position up to which a channel was read in this browser. */
export interface ReadMark {
  /** The number of messages that the channel had then. */
  count: number;
  /** The newest of them. */
  relPath: string;
}

const keyOf = (channel: string): string => `crosstalk-read-${channel}`;

export function loadMark(shelf: Shelf, channel: string): ReadMark | undefined {
  try {
    const kept = JSON.parse(shelf.getItem(keyOf(channel)) ?? 'null') as Partial<ReadMark> | null;
    return typeof kept?.count === 'number' && typeof kept.relPath === 'string'
      ? { count: kept.count, relPath: kept.relPath }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Remembers that a channel was read, if the browser can store it. */
export function keepMark(shelf: Shelf, channel: string, mark: ReadMark): void {
  try {
    shelf.setItem(keyOf(channel), JSON.stringify(mark));
  } catch {
    // Private windows may store nothing: then the server's count is shown.
  }
}

/**
 * Returns the number of messages not seen in this browser. For a channel that was never opened here, the number that
 * the server counts for the operator.
 */
export function unreadOf(channel: WebChannel, mark: ReadMark | undefined): number {
  return mark === undefined ? channel.unread : Math.max(0, channel.messages - mark.count);
}
