import { useEffect, useRef, useState } from 'preact/hooks';
import type { WebEvents, WebMessage, WebMessagePage } from '../../api/api.ts';
import { get, wordsOf } from '../live/api.ts';
import { useNews } from '../live/use-live.ts';
import {
  PAGE,
  reachesEnd,
  spanOf,
  withArrived,
  withCounts,
  withPage,
  type LoadedSpan,
} from './span.ts';

/** Milliseconds between two requests for the number of messages while they are being indexed. */
const GROWING_MS = 1000;

/** The position in a channel to load: around a message, from an index on, or at the end. */
export type Target = { around: string } | { at: number } | undefined;

export interface SpanControl {
  span: LoadedSpan | undefined;
  problem: string | undefined;
  /** Loads the messages before or after the loaded ones. */
  more: (side: 'before' | 'after') => void;
  /** Keeps what is loaded: messages on their way to one end would push out those at the other. */
  hold: () => void;
  /** Loads another part of the channel; resolves with it, or with undefined after a failure. */
  load: (target: Target) => Promise<LoadedSpan | undefined>;
  /** Whether another part is being loaded, which will replace the loaded one. */
  isLoading: () => boolean;
}

/**
 * A part of a channel that is kept up to date.
 *
 * @param onArrived receives new messages after they were added
 * @param near the message the reader looks at; if everything has to be loaded again, it is loaded
 *   around it
 */
export function useSpan(
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
      // What the reader has asked for is not lost; it is asked for again.
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
