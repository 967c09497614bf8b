/**
 * A position in a list: one of its items, and how far its top is below the top of the visible part.
 */
export interface Anchor {
  key: string;
  /** In pixels; negative when the item begins above the visible part. */
  offset: number;
}

export type ScrollPlace = Anchor | 'end';

/**
 * A wish to be somewhere in a list. Every new object moves the reader, even to where they were sent
 * before: they may have scrolled away meanwhile.
 */
export interface Move {
  to: ScrollPlace;
}

/** Returns the pixels from the beginning of the list to the top of the visible part, by the known heights. */
export function topOf(
  place: ScrollPlace,
  keys: readonly string[],
  heights: readonly number[],
  seen: number,
): number {
  let top = 0;
  for (const [index, key] of keys.entries()) {
    if (place !== 'end' && key === place.key) return top - place.offset;
    top += heights[index] ?? 0;
  }
  return place === 'end' ? Math.max(0, top - seen) : 0;
}

/** Returns the elements of the items that are rendered. */
export function elementsOf(box: ParentNode): HTMLElement[] {
  return [...box.querySelectorAll<HTMLElement>('.windowed-item')];
}

/** Measures the rendered items; returns whether any height has changed. */
export function takeHeights(box: HTMLElement, known: Map<string, number>): boolean {
  let news = false;
  for (const element of elementsOf(box)) {
    const key = element.dataset['key'] ?? '';
    const { height } = element.getBoundingClientRect();
    if (height > 0 && Math.abs((known.get(key) ?? -1) - height) > 0.5) {
      known.set(key, height);
      news = true;
    }
  }
  return news;
}

/**
 * Scrolls so that a position stays where it was.
 *
 * @param before the last result of this function: at the end, the list is scrolled only if it has grown
 */
export function settle(box: HTMLElement, place: ScrollPlace | undefined, before: string): string {
  const size = `${String(box.scrollHeight)} ${String(box.clientHeight)}`;
  if (place === 'end') {
    if (size !== before) box.scrollTop = box.scrollHeight;
    return size;
  }
  const element = elementsOf(box).find(({ dataset }) => dataset['key'] === place?.key);
  if (place === undefined || element === undefined) return size;
  const offset = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (Math.abs(offset - place.offset) > 0.5) box.scrollTop += offset - place.offset;
  return size;
}

/** Returns the first item that is at least partly visible; undefined if none is. */
export function anchorAt(box: HTMLElement): Anchor | undefined {
  const { top, bottom } = box.getBoundingClientRect();
  for (const element of elementsOf(box)) {
    const at = element.getBoundingClientRect();
    if (at.bottom > top && at.top < bottom)
      return { key: element.dataset['key'] ?? '', offset: at.top - top };
  }
  return undefined;
}
