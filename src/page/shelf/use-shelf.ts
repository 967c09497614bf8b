import { get } from '../live/api.ts';
import { useLoaded, useSeldom, type Loaded } from '../live/use-live.ts';

/** Whatever is pushed may change what is shown, and seldom does. */
const LOAD_MS = 3000;

/**
 * Loads something that is kept on the bus, and loads it again a while after something was pushed.
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
