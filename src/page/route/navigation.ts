import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { pathOf, routeOf, type Route } from './route.ts';

/** The current route, and a function to go to another one. */
export interface Navigation {
  route: Route;
  /** The id of the current entry of the browser's history; going back leads to the earlier id. */
  entry: string;
  go: (to: Route, how?: 'push' | 'replace') => void;
}

export const NavigationContext = createContext<Navigation>({
  route: { view: 'inbox' },
  entry: '',
  go: () => undefined,
});

export function useNavigation(): Navigation {
  return useContext(NavigationContext);
}

/** Returns the address bar as state; the browser's back and forward buttons work as usual. */
export function useAddressBar(): Navigation {
  const [at, setAt] = useState(current);
  useEffect(() => {
    const moved = (): void => {
      setAt(current());
    };
    addEventListener('popstate', moved);
    return () => {
      removeEventListener('popstate', moved);
    };
  }, []);
  const go = (to: Route, how: 'push' | 'replace' = 'push'): void => {
    const path = pathOf(to);
    const same = path === location.pathname + location.search;
    if (how === 'replace') history.replaceState(history.state, '', path);
    // Going to where one is already shows it anew, and the history has it once.
    else history[same ? 'replaceState' : 'pushState']({ entry: newEntry() }, '', path);
    setAt({ route: to, entry: entryOf() });
  };
  return { ...at, go };
}

function current(): Pick<Navigation, 'route' | 'entry'> {
  return { route: routeOf(location.pathname, location.search), entry: entryOf() };
}

/** Returns the id of the current entry; one that the page did not make receives it now. */
function entryOf(): string {
  const { entry } = (history.state ?? {}) as { entry?: unknown };
  if (typeof entry === 'string') return entry;
  const made = newEntry();
  history.replaceState({ entry: made }, '');
  return made;
}

let entries = 0;

function newEntry(): string {
  entries++;
  return `${performance.timeOrigin.toString(36)}-${String(entries)}`;
}
