/** The items of a list that have to be rendered, and the height of the others. */
export interface Window {
  /** Index of the first rendered item. */
  first: number;
  /** Index after the last rendered item. */
  end: number;
  /** The height of the items before and after them, in pixels. */
  above: number;
  below: number;
}

/**
 * Returns the part of a list near its visible part.
 *
 * @param heights of the items in pixels, measured or estimated
 * @param top pixels from the list's beginning to the visible part
 * @param seen the height of the visible part in pixels
 * @param spare pixels that are also rendered on both sides
 */
export function windowOf(
  heights: readonly number[],
  top: number,
  seen: number,
  spare: number,
): Window {
  const from = top - spare;
  const to = top + seen + spare;
  let first = 0;
  let above = 0;
  while (first < heights.length && above + (heights[first] ?? 0) <= from) {
    above += heights[first] ?? 0;
    first++;
  }
  let end = first;
  let reached = above;
  while (end < heights.length && (reached < to || end === first)) {
    reached += heights[end] ?? 0;
    end++;
  }
  let below = 0;
  for (let at = end; at < heights.length; at++) below += heights[at] ?? 0;
  // A list that is scrolled past its end still shows its last item.
  if (first === heights.length && first > 0) {
    first--;
    above -= heights[first] ?? 0;
    end = heights.length;
  }
  return { first, end, above, below };
}

/**
 * Joins a page of items to the loaded ones, without duplicates, and drops the farthest if there are
 * too many.
 *
 * @param side at which end of `there` the page belongs
 */
export function joined<T>(
  there: readonly T[],
  page: readonly T[],
  side: 'before' | 'after',
  keyOf: (one: T) => string,
  limit: number,
): T[] {
  const known = new Set(there.map(keyOf));
  const fresh = page.filter((one) => !known.has(keyOf(one)));
  const all = side === 'before' ? [...fresh, ...there] : [...there, ...fresh];
  if (all.length <= limit) return all;
  return side === 'before' ? all.slice(0, limit) : all.slice(-limit);
}
