import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { pathOf, routeOf, type Route } from './route.ts';

/** The current route, and a function to go to another one. */
export interface Navigation {
  route: Route;
  go: (to: Route, how?: 'push' | 'replace') => void;
}

export const NavigationContext = createContext<Navigation>({
  route: { view: 'now' },
  go: () => undefined,
});

export function useNavigation(): Navigation {
  return useContext(NavigationContext);
}

/** The address bar as state; the browser's back and forward buttons work as usual. */
export function useAddressBar(): Navigation {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const moved = (): void => {
      setRoute(current());
    };
    addEventListener('popstate', moved);
    return () => {
      removeEventListener('popstate', moved);
    };
  }, []);
  const go = (to: Route, how: 'push' | 'replace' = 'push'): void => {
    const path = pathOf(to);
    if (how === 'replace') history.replaceState(null, '', path);
    else if (path !== location.pathname + location.search) history.pushState(null, '', path);
    setRoute(to);
  };
  return { route, go };
}

function current(): Route {
  return routeOf(location.pathname, location.search);
}
