import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Anchor, Move } from '../list/place.ts';
import { keepMark } from '../live/read-marks.ts';
import { useNavigation } from '../route/navigation.ts';
import { keepPlace, placeOf } from '../route/places.ts';
import { reachesEnd, type LoadedSpan } from './span.ts';
import { useSpan, type SpanControl, type Target } from './use-span.ts';

/** Pixels above a message after jumping to it. */
const AIR = 48;
/** The number of messages loaded before the target of a jump. */
const BEFORE_JUMP = 20;

interface Reading extends Pick<SpanControl, 'span' | 'problem' | 'more'> {
  /** Where the list is to be. */
  move: Move;
  /** The key of the first visible message. */
  key: () => string | undefined;
  /** Whether there is something below what is visible. */
  away: boolean;
  /** The number of messages that arrived there meanwhile. */
  fresh: number;
  toStart: () => Promise<void>;
  toEnd: () => Promise<void>;
  /** Moves to a message that is loaded. */
  show: (relPath: string) => void;
  /** Loads what is at the `index`-th place, where a reader has dragged the scroll bar. */
  jump: (index: number) => void;
  onPlace: (atEnd: boolean, anchor: Anchor | undefined) => void;
}

/** What is read of a channel: the loaded messages, and the reader's position among them. */
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
