import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import {
  anchorAt,
  elementsOf,
  settle,
  takeHeights,
  topOf,
  type Anchor,
  type Move,
  type ScrollPlace,
} from './place.ts';
import { windowOf } from './window.ts';

export interface WindowedProps<T> {
  items: readonly T[];
  /** The number of items before and after `items` that are not loaded. */
  before: number;
  after: number;
  keyOf: (item: T) => string;
  /** Receives also the item's index among all items, loaded or not. */
  show: (item: T, index: number) => ComponentChildren;
  /** Returns an estimate of an item's height in pixels, used until it was rendered. */
  guess: (item: T) => number;
  label: string;
  /** Called when the reader approaches an end beyond which there are more items. */
  more: (side: 'before' | 'after') => void;
  /** Called when the reader scrolls to items that are not loaded: to the `index`-th of all. */
  jump: (index: number) => void;
  /** The position to show; `'end'` follows the end as it grows. */
  at: Move;
  /**
   * Receives whether the end is visible, and the first visible item, after every scroll and every
   * rendering.
   */
  onPlace: (atEnd: boolean, anchor: Anchor | undefined) => void;
}

/** Pixels that are also rendered above and below the visible part. */
const SPARE = 600;
/** Pixels from the end that still count as the end. */
const NEAR_END = 3;
/**
 * The height of an item that is not loaded, unless the list would become taller than browsers can
 * draw.
 */
const UNIT = 110;
const TALLEST = 8_000_000;
/** Milliseconds that a reader has to stay at a position before its items are loaded. */
const STAY_MS = 100;

/**
 * List of any length of which only the part near the reader is rendered. When items are added, removed or taller than
 * estimated, the item that the reader looks at stays in place.
 */
export function Windowed<T>(props: WindowedProps<T>): JSX.Element {
  const { items, before, after, keyOf, show, guess, label, at } = props;
  const box = useRef<HTMLDivElement>(null);
  const measured = useRef(new Map<string, number>());
  const size = useRef('');
  const [, redraw] = useReducer((n: number) => n + 1, 0);

  // The reader's position; undefined while they are where nothing is loaded.
  const place = useRef<ScrollPlace | undefined>(at.to);
  const asked = useRef(at);
  const staying = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(props);
  /** Position of the scroll bar that this list has set: it is anywhere else only after the reader moved it. */
  const stood = useRef<number | undefined>(undefined);
  const moved = (element: HTMLElement): boolean =>
    stood.current === undefined || Math.abs(element.scrollTop - stood.current) >= 1;
  /** Takes the position to which the reader has scrolled. */
  const follow = (element: HTMLElement): void => {
    stood.current = element.scrollTop;
    place.current = isAtEnd(element, latest.current) ? 'end' : anchorAt(element);
  };
  if (asked.current !== at) {
    asked.current = at;
    place.current = at.to;
    size.current = '';
    clearTimeout(staying.current);
    staying.current = undefined;
  } else if (box.current !== null && stood.current !== undefined && moved(box.current)) {
    // The event for this follows; until then the position must not be restored.
    follow(box.current);
  }
  latest.current = props;

  const unit = unitOf(props);
  const heights = items.map((item) => measured.current.get(keyOf(item)) ?? guess(item));
  const seen = box.current?.clientHeight ?? 800;
  const top =
    place.current === undefined
      ? (box.current?.scrollTop ?? 0) - before * unit
      : topOf(place.current, items.map(keyOf), heights, seen);
  const { first, end, above, below } = windowOf(heights, top, seen, SPARE);

  const head = useRef({ key: '', top: 0 });
  const put = (): void => {
    const element = box.current;
    if (element === null) return;
    if (takeHeights(element, measured.current)) redraw(undefined);
    // The loaded items may turn out to be at another index; a reader next to them moves along.
    const [item] = latest.current.items;
    const key = item === undefined ? '' : latest.current.keyOf(item);
    const now = { key, top: latest.current.before * unitOf(latest.current) };
    if (place.current === undefined && key === head.current.key)
      element.scrollTop += now.top - head.current.top;
    head.current = now;
    size.current = settle(element, place.current, size.current);
    stood.current = element.scrollTop;
    tell(element);
  };
  const tell = (element: HTMLElement): void => {
    const { items: loaded, onPlace } = latest.current;
    if (loaded.length > 0) onPlace(isAtEnd(element, latest.current), anchorAt(element));
  };
  // After every rendering, measure the items and restore the reader's position.
  useLayoutEffect(put);
  useEffect(() => {
    const changed = new ResizeObserver(put);
    const element = box.current;
    if (element !== null) changed.observe(element);
    return () => {
      changed.disconnect();
    };
  }, []);

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
    // The list's own scrolling causes events too, which come when more may have been measured.
    if (moved(element)) follow(element);
    look();
    tell(element);
    redraw(undefined);
  };
  useEffect(look, [items]);

  return (
    <div
      class="windowed"
      ref={box}
      onScroll={onScroll}
      // A feed without an article is none.
      role={items.length === 0 && before + after === 0 ? 'group' : 'feed'}
      aria-label={label}
      aria-busy={items.length === 0 && before + after > 0}
      tabIndex={0}
    >
      <div style={{ height: `${String(before * unit + above)}px` }} />
      {items.slice(first, end).map((item, index) => (
        <div class="windowed-item" key={keyOf(item)} data-key={keyOf(item)}>
          {show(item, before + first + index)}
        </div>
      ))}
      <div style={{ height: `${String(below + after * unit)}px` }} />
    </div>
  );
}

/** Whether the end of the last item is visible. */
function isAtEnd(box: HTMLElement, { after }: Pick<Counts, 'after'>): boolean {
  return after === 0 && box.scrollHeight - box.scrollTop - box.clientHeight <= NEAR_END;
}

type Counts = Pick<WindowedProps<unknown>, 'before' | 'after' | 'items'>;

/** Returns the height of an item that is not loaded, in pixels. */
function unitOf({ before, after }: Counts): number {
  return Math.min(UNIT, TALLEST / Math.max(1, before + after));
}

/** Returns the start and end of the loaded part in the list, in pixels. */
function loadedPart(box: HTMLElement, counts: Counts): { top: number; end: number } {
  const unit = unitOf(counts);
  return { top: counts.before * unit, end: box.scrollHeight - counts.after * unit };
}

/** Returns the index of the item at the top of the visible part; undefined if it is loaded. */
function indexAt(box: HTMLElement, counts: Counts): number | undefined {
  const { scrollTop, clientHeight } = box;
  const { top, end } = loadedPart(box, counts);
  if (scrollTop + clientHeight < top) return Math.floor(scrollTop / unitOf(counts));
  if (scrollTop <= end) return undefined;
  return Math.floor(counts.before + counts.items.length + (scrollTop - end) / unitOf(counts));
}

/** Returns the element of an item, if it is rendered. */
export function elementFor(box: ParentNode | null, key: string): HTMLElement | undefined {
  return box === null ? undefined : elementsOf(box).find(({ dataset }) => dataset['key'] === key);
}
