/** Which of many things of different heights have to be there, and the room of the others. */
export interface Window {
  /** Index of the first that is there. */
  first: number;
  /** Index after the last. */
  end: number;
  /** Pixels of what comes before and after them. */
  above: number;
  below: number;
}

/**
 * The part of a list that is near what is seen of it.
 *
 * @param heights pixels of each, measured or guessed
 * @param top pixels from the list's beginning to the first that is seen
 * @param seen pixels that are seen
 * @param spare pixels that are kept ready on both sides
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
  // A list that is scrolled past its end still shows its last.
  if (first === heights.length && first > 0) {
    first--;
    above -= heights[first] ?? 0;
    end = heights.length;
  }
  return { first, end, above, below };
}

/**
 * Joins a page of things to those that are there, each once, and lets go of the farthest when there
 * are too many.
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
