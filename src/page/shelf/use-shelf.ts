import { get } from '../live/api.ts';
import { useLoaded, useSeldom, type Loaded } from '../live/use-live.ts';

/** Any push may change the shown list, and seldom does. */
const LOAD_MS = 3000;

/**
 * Loads something from the bus, and loads it again a while after a push.
 *
 * @param path below `/api/`
 */
export function useShelf<T>(
  path: string,
  query: Record<string, string | number | undefined> = {},
): Loaded<T> {
  const loaded = useLoaded<T>(`${path} ${JSON.stringify(query)}`, (signal) =>
    get<T>(path, query, signal),
  );
  useSeldom('tip', LOAD_MS, loaded.again);
  return loaded;
}
