import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { WebEvents } from '../../api/api.ts';
import { wordsOf } from './api.ts';
import { Live, type LiveEvent } from './live.ts';
import type { Model } from './model.ts';

export const LiveContext = createContext<Live>(new Live());

/** Returns the model; the component is rendered again when it changes. */
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

/** Calls back with every event while the component is mounted. */
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

/**
 * Calls back a while after an event, once for all that happened meanwhile: for data that is costly to
 * load and may be a little old.
 *
 * @param ms milliseconds from the first event
 */
export function useSeldom(event: keyof WebEvents, ms: number, happened: () => void): void {
  const latest = useRef(happened);
  latest.current = happened;
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useNews(({ name }) => {
    if (name !== event || waiting.current !== undefined) return;
    waiting.current = setTimeout(() => {
      waiting.current = undefined;
      latest.current();
    }, ms);
  });
  useEffect(
    () => () => {
      clearTimeout(waiting.current);
      waiting.current = undefined;
    },
    [],
  );
}

/** Loaded data, or why loading failed; earlier data stays until there is new data. */
export interface Loaded<T> {
  value: T | undefined;
  problem: string | undefined;
}

/** Milliseconds in which events are collected before something is loaded again. */
const GATHER_MS = 250;

/**
 * Loads something, and loads it again when `what` changes or one of some events arrives, and when
 * the connection is open again after it could not be loaded.
 *
 * @param what names the data; under another name, the earlier data is dropped
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
    // Data that failed to load while the server was away is loaded when it is back.
    const isBack = name === 'hello' && state.problem !== undefined;
    if ((!isBack && !events.includes(name)) || gathering.current !== undefined) return;
    gathering.current = setTimeout(() => {
      gathering.current = undefined;
      // A current request is not cancelled, or a stream of events would prevent any result.
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

/** Returns the current time, updated every `ms` milliseconds. */
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
