import type { WebMessage, WebMessagePage } from '../../api/api.ts';
import { joined } from '../list/window.ts';

/** The loaded part of a channel: consecutive messages, and their position in the channel. */
export interface LoadedSpan {
  /** Oldest first. */
  messages: readonly WebMessage[];
  /** The number of messages that are older than these. */
  first: number;
  /** The number of messages of the channel on the bus. */
  total: number;
  /** Messages that this machine has yet to send to the channel. */
  queued: readonly WebMessage[];
  /** False while older messages are still being indexed, and `first` and `total` grow. */
  complete: boolean;
}

/** The most messages that are kept; those farthest from the reader are dropped. */
const KEPT = 600;
/** The number of messages requested at a time. */
export const PAGE = 60;

const keyOf = ({ relPath }: WebMessage): string => relPath;

/** Whether the newest message of the channel is loaded. */
export function reachesEnd({ first, messages, total }: LoadedSpan): boolean {
  return first + messages.length >= total;
}

export function spanOf(page: WebMessagePage): LoadedSpan {
  const { messages, first, total, queued, complete, after } = page;
  const end = first + messages.length;
  return { messages, first, total: after === null ? end : Math.max(total, end), queued, complete };
}

/** Adds a page that comes directly before or after the loaded part. */
export function withPage(
  span: LoadedSpan,
  page: WebMessagePage,
  side: 'before' | 'after',
): LoadedSpan {
  const messages = joined(span.messages, page.messages, side, keyOf, KEPT);
  const pageEnd = page.first + page.messages.length;
  const atEnd = side === 'after' && page.after === null;
  return {
    messages,
    first: side === 'before' ? page.first : pageEnd - messages.length,
    total: atEnd ? pageEnd : Math.max(page.total, span.total),
    queued: page.queued.length > 0 || atEnd ? page.queued : span.queued,
    complete: page.complete,
  };
}

/** Updates the position of the loaded part from a page next to it. */
export function withCounts(span: LoadedSpan, page: WebMessagePage): LoadedSpan {
  const { total, complete } = page;
  return { ...span, first: page.first + page.messages.length, total, complete };
}

/** Adds messages that arrived in the channel, in whatever order they were written. */
export function withArrived(span: LoadedSpan, arrived: readonly WebMessage[]): LoadedSpan {
  const known = new Set(span.messages.map(keyOf));
  const fresh = arrived.filter((one) => !known.has(one.relPath));
  if (fresh.length === 0) return span;
  const oldest = span.messages[0]?.relPath ?? '';
  const newest = span.messages.at(-1)?.relPath ?? '';
  const open = reachesEnd(span);
  const before = fresh.filter((one) => one.relPath < oldest);
  const within = fresh.filter((one) => one.relPath > oldest && (open || one.relPath < newest));
  const messages = [...span.messages, ...within].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
  const over = Math.max(0, messages.length - KEPT);
  return {
    ...span,
    messages: messages.slice(over),
    first: span.first + before.length + over,
    total: span.total + fresh.length,
    queued: span.queued.filter((one) => !arrived.some(({ relPath }) => relPath === one.relPath)),
  };
}

/** The messages to show: the loaded ones, and at the end those that have yet to be sent. */
export function shownOf(span: LoadedSpan, pending: readonly WebMessage[]): WebMessage[] {
  if (!reachesEnd(span)) return [...span.messages];
  const known = new Set(span.messages.map(keyOf));
  const waiting = new Map<string, WebMessage>();
  for (const one of [...span.queued, ...pending])
    if (!known.has(one.relPath)) waiting.set(one.relPath, one);
  return [...span.messages, ...waiting.values()];
}
