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
  /** Loads another part of the channel; resolves with it, or with undefined after a failure. */
  load: (target: Target) => Promise<LoadedSpan | undefined>;
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
  const loading = useRef<AbortController | undefined>(undefined);
  const paging = useRef(false);
  /** Messages that arrive while something is loaded may be missing in the result. */
  const late = useRef<WebMessage[]>([]);

  const keep = (next: LoadedSpan): void => {
    span.current = next;
    setState({ span: next, problem: undefined });
  };
  const ask = (query: Record<string, string | number>, signal: AbortSignal) =>
    get<WebMessagePage>(`channels/${channel}/messages`, { limit: PAGE, ...query }, signal);

  const load = async (target: Target): Promise<LoadedSpan | undefined> => {
    loading.current?.abort();
    const stop = new AbortController();
    loading.current = stop;
    late.current = [];
    try {
      const page = await ask(target ?? {}, stop.signal);
      if (stop.signal.aborted) return undefined;
      const next = withArrived(spanOf(page), late.current);
      keep(next);
      return next;
    } catch (error) {
      if (!stop.signal.aborted) setState({ span: span.current, problem: wordsOf(error) });
      return undefined;
    } finally {
      if (loading.current === stop) loading.current = undefined;
    }
  };

  const more = (side: 'before' | 'after'): void => {
    const edge = side === 'before' ? span.current?.messages[0] : span.current?.messages.at(-1);
    if (paging.current || loading.current !== undefined || edge === undefined) return;
    if (side === 'after' && span.current !== undefined && reachesEnd(span.current)) return;
    paging.current = true;
    const stop = new AbortController();
    ask({ [side]: edge.relPath }, stop.signal)
      .then(
        (page) => {
          // Meanwhile another part may have been loaded, to which this page is not adjacent.
          const now = span.current;
          const same = side === 'before' ? now?.messages[0] : now?.messages.at(-1);
          if (now !== undefined && same?.relPath === edge.relPath) keep(withPage(now, page, side));
        },
        (error: unknown) => {
          setState({ span: span.current, problem: wordsOf(error) });
        },
      )
      .finally(() => {
        paging.current = false;
      });
  };

  useNews(({ name, data }) => {
    if (name === 'reset') {
      const around = near();
      void load(around === undefined ? undefined : { around });
      return;
    }
    if (name !== 'messages') return;
    const arrived = data as WebEvents['messages'];
    if (arrived.channel !== channel) return;
    if (loading.current !== undefined) late.current.push(...arrived.messages);
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
      loading.current?.abort();
    },
    [],
  );
  return { ...state, more, load };
}
