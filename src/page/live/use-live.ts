import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { WebEvents } from '../../api/api.ts';
import { wordsOf } from './api.ts';
import { Live, type LiveEvent } from './live.ts';
import type { Model } from './model.ts';

export const LiveContext = createContext<Live>(new Live());

/** What is known of the bus; the component is drawn again when it changes. */
export function useModel(): Model {
  const live = useContext(LiveContext);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(
    () =>
      live.subscribe(() => {
        redraw(undefined);
      }),
    [live],
  );
  return live.model;
}

/** Calls back with every event while the component is there. */
export function useNews(heard: (news: LiveEvent) => void): void {
  const live = useContext(LiveContext);
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(
    () =>
      live.listen((news) => {
        latest.current(news);
      }),
    [live],
  );
}

/** Something loaded, or why it could not be; what was there stays until its successor comes. */
export interface Loaded<T> {
  value: T | undefined;
  problem: string | undefined;
}

/** Milliseconds in which events are gathered before something is loaded again. */
const GATHER_MS = 250;

/**
 * Loads something, and again when `what` changes or one of some events comes.
 *
 * @param what names what is loaded: another name forgets what was there
 */
export function useLoaded<T>(
  what: string,
  load: (signal: AbortSignal) => Promise<T>,
  events: readonly (keyof WebEvents)[] = ['reset'],
): Loaded<T> & { again: () => void } {
  const [state, setState] = useState<Loaded<T> & { what: string }>({
    what,
    value: undefined,
    problem: undefined,
  });
  const [round, again] = useReducer((n: number) => n + 1, 0);
  const gathering = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const under = useRef<'idle' | 'loading' | 'stale'>('idle');
  useNews(({ name }) => {
    if (!events.includes(name) || gathering.current !== undefined) return;
    gathering.current = setTimeout(() => {
      gathering.current = undefined;
      // What is under way is not given up, or a stream of events would keep anything from coming.
      if (under.current === 'idle') again(undefined);
      else under.current = 'stale';
    }, GATHER_MS);
  });
  useEffect(
    () => () => {
      clearTimeout(gathering.current);
      gathering.current = undefined;
    },
    [],
  );
  useEffect(() => {
    const stop = new AbortController();
    under.current = 'loading';
    const ended = (): void => {
      const { current } = under;
      under.current = 'idle';
      if (current === 'stale') again(undefined);
    };
    load(stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return;
        setState({ what, value, problem: undefined });
        ended();
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({
          what,
          value: before.what === what ? before.value : undefined,
          problem: wordsOf(error),
        }));
        ended();
      },
    );
    return () => {
      stop.abort();
    };
  }, [what, round]);
  const own = state.what === what ? state : { value: undefined, problem: undefined };
  return {
    ...own,
    again: () => {
      again(undefined);
    },
  };
}

/** The time, again every `ms` milliseconds. */
export function useClock(ms: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, ms);
    return () => {
      clearInterval(timer);
    };
  }, [ms]);
  return now;
}
