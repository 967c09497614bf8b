import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { anchorAt, elementsOf, settle, takeHeights, topOf, type ScrollPlace } from './place.ts';
import { windowOf } from './window.ts';

export interface WindowedProps<T> {
  items: readonly T[];
  /** How many there are before and after `items` that are not loaded. */
  before: number;
  after: number;
  keyOf: (item: T) => string;
  show: (item: T) => ComponentChildren;
  /** A guess of an item's height in pixels, for as long as it was not seen. */
  guess: (item: T) => number;
  label: string;
  /** Called when the reader comes near an end beyond which there are more. */
  more: (side: 'before' | 'after') => void;
  /** Called when the reader went to where nothing is loaded: to the `index`-th of all. */
  jump: (index: number) => void;
  /** Where to be. A new object takes the reader there; `'end'` keeps to the end as it grows. */
  at: ScrollPlace;
  /** Told whether the reader is at the very end, and the first thing they see. */
  onPlace: (atEnd: boolean, key: string | undefined) => void;
}

/** Pixels kept ready above and below what is seen. */
const SPARE = 600;
/** Pixels from the end that count as the end. */
const NEAR_END = 3;
/** Pixels for one that is not loaded, unless so many would be taller than browsers can draw. */
const UNIT = 110;
const TALLEST = 8_000_000;
/** Milliseconds for which a reader stays before what is there is loaded. */
const STAY_MS = 100;

/**
 * A list of any length of which only what is near the reader is there. Whatever comes, goes or turns
 * out taller than was guessed, what the reader looks at stays where it is.
 */
export function Windowed<T>(props: WindowedProps<T>): JSX.Element {
  const { items, before, after, keyOf, show, guess, label, at } = props;
  const box = useRef<HTMLDivElement>(null);
  const measured = useRef(new Map<string, number>());
  const size = useRef('');
  const [, redraw] = useReducer((n: number) => n + 1, 0);

  // Where the reader is; undefined while they are where nothing is loaded.
  const place = useRef<ScrollPlace | undefined>(at);
  const asked = useRef(at);
  if (asked.current !== at) {
    asked.current = at;
    place.current = at;
    size.current = '';
  }
  const latest = useRef(props);
  latest.current = props;

  const unit = unitOf(props);
  const heights = items.map((item) => measured.current.get(keyOf(item)) ?? guess(item));
  const seen = box.current?.clientHeight ?? 800;
  const top =
    place.current === undefined
      ? (box.current?.scrollTop ?? 0) - before * unit
      : topOf(place.current, items.map(keyOf), heights, seen);
  const { first, end, above, below } = windowOf(heights, top, seen, SPARE);

  const stood = useRef({ key: '', top: 0 });
  const put = (): void => {
    const element = box.current;
    if (element === null) return;
    if (takeHeights(element, measured.current)) redraw(undefined);
    // What is loaded may turn out to stand elsewhere; who is beside it goes along.
    const [head] = latest.current.items;
    const key = head === undefined ? '' : latest.current.keyOf(head);
    const now = { key, top: latest.current.before * unitOf(latest.current) };
    if (place.current === undefined && key === stood.current.key)
      element.scrollTop += now.top - stood.current.top;
    stood.current = now;
    size.current = settle(element, place.current, size.current);
  };
  // After every drawing: take the heights that are now known, and put back what was looked at.
  useLayoutEffect(put);
  useEffect(() => {
    const changed = new ResizeObserver(put);
    const element = box.current;
    if (element !== null) changed.observe(element);
    return () => {
      changed.disconnect();
    };
  }, []);

  const staying = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(
    () => () => {
      clearTimeout(staying.current);
    },
    [],
  );
  const look = (): void => {
    const element = box.current;
    if (element === null || latest.current.items.length === 0) return;
    const { scrollTop, clientHeight } = element;
    const loaded = loadedPart(element, latest.current);
    if (scrollTop + clientHeight < loaded.top || scrollTop > loaded.end) {
      place.current = undefined;
      staying.current ??= setTimeout(() => {
        staying.current = undefined;
        const index = indexAt(element, latest.current);
        if (index !== undefined) latest.current.jump(index);
      }, STAY_MS);
      return;
    }
    place.current ??= anchorAt(element);
    if (latest.current.before > 0 && scrollTop - loaded.top < 2 * clientHeight)
      latest.current.more('before');
    if (latest.current.after > 0 && loaded.end - scrollTop - clientHeight < 2 * clientHeight)
      latest.current.more('after');
  };
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop, clientHeight, scrollHeight } = element;
    const atEnd = latest.current.after === 0 && scrollHeight - scrollTop - clientHeight <= NEAR_END;
    const anchor = anchorAt(element);
    place.current = atEnd ? 'end' : anchor;
    look();
    latest.current.onPlace(atEnd, anchor?.key);
    redraw(undefined);
  };
  useEffect(look, [items]);

  return (
    <div
      class="windowed"
      ref={box}
      onScroll={onScroll}
      role="feed"
      aria-label={label}
      aria-busy={items.length === 0 && before + after > 0}
      tabIndex={0}
    >
      <div style={{ height: `${String(before * unit + above)}px` }} />
      {items.slice(first, end).map((item) => (
        <div class="windowed-item" key={keyOf(item)} data-key={keyOf(item)}>
          {show(item)}
        </div>
      ))}
      <div style={{ height: `${String(below + after * unit)}px` }} />
    </div>
  );
}

type Counts = Pick<WindowedProps<unknown>, 'before' | 'after' | 'items'>;

/** Pixels for one that is not loaded. */
function unitOf({ before, after }: Counts): number {
  return Math.min(UNIT, TALLEST / Math.max(1, before + after));
}

/** Where in the list what is loaded begins and ends, in pixels. */
function loadedPart(box: HTMLElement, counts: Counts): { top: number; end: number } {
  const unit = unitOf(counts);
  return { top: counts.before * unit, end: box.scrollHeight - counts.after * unit };
}

/** Which of all is at the top of what is seen; undefined where it is loaded. */
function indexAt(box: HTMLElement, counts: Counts): number | undefined {
  const { scrollTop, clientHeight } = box;
  const { top, end } = loadedPart(box, counts);
  if (scrollTop + clientHeight < top) return Math.floor(scrollTop / unitOf(counts));
  if (scrollTop <= end) return undefined;
  return Math.floor(counts.before + counts.items.length + (scrollTop - end) / unitOf(counts));
}

/** The element of one thing, if it is there. */
export function elementFor(box: ParentNode | null, key: string): HTMLElement | undefined {
  return box === null ? undefined : elementsOf(box).find(({ dataset }) => dataset['key'] === key);
}
