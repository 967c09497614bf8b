import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Anchor, Move } from '../list/place.ts';
import { keepMark } from '../live/read-marks.ts';
import { useNavigation } from '../route/navigation.ts';
import { keepPlace, placeOf } from '../route/places.ts';
import type { WebEvents, WebMessage, WebMessagePage } from '../../api/api.ts';
import { get, wordsOf } from '../live/api.ts';
import { useNews } from '../live/use-live.ts';
import { joined } from '../list/window.ts';

/** Pixels above a message after jumping to it. */
const AIR = 48;
/** The number of messages loaded before the target of a jump. */
const BEFORE_JUMP = 20;

interface Reading extends Pick<SpanControl, 'span' | 'problem' | 'more'> {
  /** Position that the list should take. */
  move: Move;
  /** Returns the key of the first visible message. */
  key: () => string | undefined;
  /** Whether there is more below the visible part. */
  away: boolean;
  /** The number of messages that arrived there meanwhile. */
  fresh: number;
  toStart: () => Promise<void>;
  toEnd: () => Promise<void>;
  /** Moves to a message that is loaded. */
  show: (relPath: string) => void;
  /** Loads the messages at the `index`-th place, where a reader has dragged the scroll bar. */
  jump: (index: number) => void;
  onPlace: (atEnd: boolean, anchor: Anchor | undefined) => void;
}

/** Returns the state of reading a channel: the loaded messages, and the reader's position among them. */
export function useReading(channel: string, at: string | undefined): Reading {
  const { entry } = useNavigation();
  const [move, setMove] = useState<Move>({ to: 'end' });
  const [fresh, setFresh] = useState(0);
  const [away, setAway] = useState(at !== undefined);
  const seen = useRef<{ key: string | undefined; atEnd: boolean }>({ key: at, atEnd: false });
  const { span, problem, more, hold, load, isLoading } = useSpan(
    channel,
    (arrived) => {
      setFresh((count) => count + arrived.length);
    },
    () => (seen.current.atEnd ? undefined : seen.current.key),
  );
  const loaded = useRef(span);
  loaded.current = span;

  // Only the newest of several moves happens: an earlier one ends when its messages are replaced.
  const wish = useRef<object | undefined>(undefined);
  const reach = async (target: Target): Promise<LoadedSpan | 'failed' | 'replaced'> => {
    const own = {};
    wish.current = own;
    const got = await load(target);
    if (wish.current !== own) return 'replaced';
    wish.current = undefined;
    return got ?? 'failed';
  };
  const has = (relPath: string): boolean =>
    !isLoading() && loaded.current?.messages.some((one) => one.relPath === relPath) === true;
  const hasEnd = (): boolean =>
    !isLoading() && loaded.current !== undefined && reachesEnd(loaded.current);

  const go = (next: Move): void => {
    hold();
    setMove(next);
  };
  const show = (relPath: string): void => {
    go({ to: { key: relPath, offset: AIR } });
  };
  const toEnd = async (): Promise<void> => {
    if (hasEnd() || typeof (await reach(undefined)) === 'object') go({ to: 'end' });
  };
  const toStart = async (): Promise<void> => {
    const got = await reach({ at: 0 });
    const key = typeof got === 'object' ? got.messages[0]?.relPath : undefined;
    if (key !== undefined) go({ to: { key, offset: 0 } });
  };
  const toAnchor = async (anchor: Anchor): Promise<'there' | 'failed' | 'replaced'> => {
    const got = has(anchor.key) ? undefined : await reach({ around: anchor.key });
    if (typeof got === 'string') return got;
    go({ to: anchor });
    return 'there';
  };
  // Read before this view reports its own places for the entry.
  const kept = useMemo(() => placeOf(entry).reading, [entry]);
  useEffect(() => {
    seen.current = { key: at, atEnd: at === undefined };
    const asked = at === undefined ? 'end' : { key: at, offset: AIR };
    const first = kept ?? asked;
    if (first === 'end') void toEnd();
    else
      void toAnchor(first).then((result) => {
        // A message that was not sent then has another address on the bus, or none.
        if (result === 'failed' && first !== asked) void toEnd();
      });
  }, [channel, at, entry]);

  // Messages at the end that are on the screen count as read.
  const read = (): void => {
    const last = span?.messages.at(-1);
    if (span === undefined || !reachesEnd(span) || document.hidden) return;
    keepMark(localStorage, channel, { count: span.total, relPath: last?.relPath ?? '' });
  };
  useLayoutEffect(() => {
    if (seen.current.atEnd) read();
  }, [span]);

  return {
    span,
    problem,
    more,
    move,
    key: () => seen.current.key,
    away,
    fresh,
    toStart,
    toEnd,
    show,
    jump: (index) => {
      if (wish.current === undefined) void reach({ at: Math.max(0, index - BEFORE_JUMP) });
    },
    onPlace: (atEnd, anchor) => {
      const arrived = atEnd && !seen.current.atEnd;
      seen.current = { key: anchor?.key, atEnd };
      setAway(!atEnd);
      const reading = atEnd ? 'end' : anchor;
      if (reading !== undefined) keepPlace(entry, { reading });
      if (!atEnd) return;
      setFresh(0);
      if (arrived) read();
    },
  };
}

/** Milliseconds between two requests for the number of messages while they are being indexed. */
const GROWING_MS = 1000;

/** The position in a channel to load: around a message, from an index on, or at the end. */
type Target = { around: string } | { at: number } | undefined;

interface SpanControl {
  span: LoadedSpan | undefined;
  problem: string | undefined;
  /** Loads the messages before or after the loaded ones. */
  more: (side: 'before' | 'after') => void;
  /** Holds the loaded messages: messages on their way to one end would push out those at the other. */
  hold: () => void;
  /** Loads another part of the channel; resolves with it, or with undefined after a failure. */
  load: (target: Target) => Promise<LoadedSpan | undefined>;
  /** Whether another part is being loaded, which will replace the loaded one. */
  isLoading: () => boolean;
}

/**
 * Returns a part of a channel that is updated live.
 *
 * @param onArrived receives new messages after they were added
 * @param near the message the reader looks at; if everything has to be loaded again, it is loaded around it
 */
function useSpan(
  channel: string,
  onArrived: (messages: readonly WebMessage[]) => void,
  near: () => string | undefined,
): SpanControl {
  const [state, setState] = useState<Pick<SpanControl, 'span' | 'problem'>>({
    span: undefined,
    problem: undefined,
  });
  const span = useRef<LoadedSpan | undefined>(undefined);
  const loading = useRef<{ stop: AbortController; isStale: boolean } | undefined>(undefined);
  const paging = useRef<AbortController | undefined>(undefined);
  /** Messages that arrive while something is loaded may be missing in the result. */
  const late = useRef<WebMessage[]>([]);

  const keep = (next: LoadedSpan): void => {
    span.current = next;
    setState({ span: next, problem: undefined });
  };
  const ask = (query: Record<string, string | number>, signal: AbortSignal) =>
    get<WebMessagePage>(`channels/${channel}/messages`, { limit: PAGE, ...query }, signal);

  const hold = (): void => {
    paging.current?.abort();
    paging.current = undefined;
  };
  const load = async (target: Target): Promise<LoadedSpan | undefined> => {
    loading.current?.stop.abort();
    hold();
    const stop = new AbortController();
    const own = { stop, isStale: false };
    loading.current = own;
    late.current = [];
    const got = await ask(target ?? {}, stop.signal).catch((error: unknown) => wordsOf(error));
    if (stop.signal.aborted) return undefined;
    loading.current = undefined;
    if (own.isStale) return load(target);
    if (typeof got === 'string') {
      setState({ span: span.current, problem: got });
      return undefined;
    }
    const next = withArrived(spanOf(got), late.current);
    keep(next);
    return next;
  };

  const more = (side: 'before' | 'after'): void => {
    const edge = side === 'before' ? span.current?.messages[0] : span.current?.messages.at(-1);
    if (paging.current !== undefined || loading.current !== undefined || edge === undefined) return;
    if (side === 'after' && span.current !== undefined && reachesEnd(span.current)) return;
    const stop = new AbortController();
    paging.current = stop;
    late.current = [];
    ask({ [side]: edge.relPath }, stop.signal).then(
      (page) => {
        if (stop.signal.aborted) return;
        paging.current = undefined;
        // Messages that arrived meanwhile may have pushed out the one to which this page is adjacent.
        const now = span.current;
        const same = side === 'before' ? now?.messages[0] : now?.messages.at(-1);
        if (now === undefined || same?.relPath !== edge.relPath) return;
        const next = withPage(now, page, side);
        keep(reachesEnd(next) ? withArrived(next, late.current) : next);
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        paging.current = undefined;
        setState({ span: span.current, problem: wordsOf(error) });
      },
    );
  };

  useNews(({ name, data }) => {
    if (name === 'reset') {
      // A request of the reader is not lost; it is repeated.
      if (loading.current !== undefined) {
        loading.current.isStale = true;
        return;
      }
      const around = near();
      void load(around === undefined ? undefined : { around });
      return;
    }
    if (name !== 'messages') return;
    const arrived = data as WebEvents['messages'];
    if (arrived.channel !== channel) return;
    if (loading.current !== undefined || paging.current !== undefined)
      late.current.push(...arrived.messages);
    if (span.current !== undefined) keep(withArrived(span.current, arrived.messages));
    onArrived(arrived.messages);
  });
  // While older messages are still being indexed, the position of the loaded ones changes.
  const oldest = state.span?.messages[0]?.relPath;
  const isGrowing = state.span?.complete === false;
  useEffect(() => {
    if (oldest === undefined || !isGrowing) return undefined;
    const stop = new AbortController();
    const timer = setInterval(() => {
      ask({ before: oldest, limit: 1 }, stop.signal).then(
        (page) => {
          if (span.current?.messages[0]?.relPath === oldest && !stop.signal.aborted)
            keep(withCounts(span.current, page));
        },
        () => undefined,
      );
    }, GROWING_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [oldest, isGrowing]);
  useEffect(
    () => () => {
      loading.current?.stop.abort();
      hold();
    },
    [],
  );
  const isLoading = (): boolean => loading.current !== undefined;
  return { ...state, more, hold, load, isLoading };
}

/** The loaded part of a channel: consecutive messages, and their position in the channel. */
interface LoadedSpan {
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

/** Most messages that are loaded; those farthest from the reader are dropped. */
const KEPT = 600;
/** The number of messages requested at a time. */
const PAGE = 60;

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
function withCounts(span: LoadedSpan, page: WebMessagePage): LoadedSpan {
  const { total, complete } = page;
  return { ...span, first: page.first + page.messages.length, total, complete };
}

/** Adds messages that arrived in the channel, in any order of writing. */
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

/** Returns the messages to show: the loaded ones, and at the end those that have yet to be sent. */
export function shownOf(span: LoadedSpan, pending: readonly WebMessage[]): WebMessage[] {
  if (!reachesEnd(span)) return [...span.messages];
  const known = new Set(span.messages.map(keyOf));
  const waiting = new Map<string, WebMessage>();
  for (const one of [...span.queued, ...pending])
    if (!known.has(one.relPath)) waiting.set(one.relPath, one);
  return [...span.messages, ...waiting.values()];
}
