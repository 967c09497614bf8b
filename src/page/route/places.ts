/** State in which a view was left, to show it in the same way when the reader comes back. */
export interface Place {
  /** Pixels by which the view is scrolled. */
  top?: number;
  /** The same for the scrolled parts of the view, by their labels. */
  parts?: Record<string, number>;
  /** The first visible message of a conversation, and how far its top is below the visible part. */
  reading?: { key: string; offset: number } | 'end';
  /** The number of search results that were asked for. */
  hits?: number;
}

const KEY = 'crosstalk-places';
/** The number of entries of the history that are remembered. */
const MOST = 100;

let places: Map<string, Place> | undefined;

/**
 * Returns the state in which the view of an entry of the browser's history was left; empty for a new entry.
 *
 * @param entry its id, as `useNavigation` returns it
 */
export function placeOf(entry: string): Place {
  return known().get(entry) ?? {};
}

/** Remembers something about the view of an entry of the history, until the tab is closed. */
export function keepPlace(entry: string, patch: Place): void {
  const all = known();
  const place = { ...all.get(entry), ...patch };
  // The entries that were changed last come last.
  all.delete(entry);
  all.set(entry, place);
}

function known(): Map<string, Place> {
  if (places !== undefined) return places;
  const read = (places = new Map(stored()));
  // Also when the page is loaded again, or another site is visited in between.
  addEventListener('pagehide', () => {
    try {
      sessionStorage.setItem(KEY, JSON.stringify([...read].slice(-MOST)));
    } catch {
      // This window cannot store it; the places last until the page is left.
    }
  });
  return places;
}

function stored(): [string, Place][] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? (kept as [string, Place][]) : [];
  } catch {
    return [];
  }
}
