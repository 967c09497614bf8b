import { isChannelId, isRelPath } from '../../protocol/names.ts';

/** The view of the page, as its address determines it. */
export type Route =
  | { view: 'now' }
  | { view: 'channels' }
  /** A period of `length` seconds that ends at `until`; that is now, and the usual length, by default. */
  | { view: 'flow'; length?: number; until?: string }
  | { view: 'cost' }
  | { view: 'write'; channel?: string }
  | { view: 'search'; words: string; channel?: string }
  | { view: 'channel'; channel: string }
  /** The conversation, positioned at one message. */
  | { view: 'message'; channel: string; relPath: string }
  | { view: 'thread'; channel: string; relPath: string }
  | { view: 'nowhere'; path: string };

/**
 * Parses an address.
 *
 * @param path such as `/m/<channel>/<relPath>`
 * @param query the text after the question mark, with or without it
 */
export function routeOf(path: string, query: string): Route {
  const [, first = '', channel = '', ...rest] = path.split('/');
  const asked = new URLSearchParams(query);
  const within = asked.get('channel') ?? '';
  const inChannel = isChannelId(within) ? { channel: within } : {};
  const nowhere: Route = { view: 'nowhere', path };
  if (channel === '') {
    switch (first) {
      case '':
        return { view: 'now' };
      case 'c':
        return { view: 'channels' };
      case 'flow':
        return { view: 'flow', ...periodOf(asked) };
      case 'cost':
        return { view: 'cost' };
      case 'write':
        return { view: 'write', ...inChannel };
      case 'search':
        return { view: 'search', words: asked.get('q') ?? '', ...inChannel };
      default:
        return nowhere;
    }
  }
  if (!isChannelId(channel)) return nowhere;
  const relPath = rest.join('/');
  if (first === 'c' && relPath === '') return { view: 'channel', channel };
  if (!isRelPath(relPath)) return nowhere;
  if (first === 'm') return { view: 'message', channel, relPath };
  return first === 't' ? { view: 'thread', channel, relPath } : nowhere;
}

/** The address of a route; {@link routeOf} parses it. */
export function pathOf(route: Route): string {
  switch (route.view) {
    case 'now':
      return '/';
    case 'channels':
      return '/c';
    case 'flow':
      return `/flow${queryOf(route)}`;
    case 'cost':
      return '/cost';
    case 'write':
      return `/write${queryOf(route)}`;
    case 'search':
      return `/search${queryOf({ q: route.words, channel: route.channel })}`;
    case 'channel':
      return `/c/${route.channel}`;
    case 'message':
      return `/m/${route.channel}/${route.relPath}`;
    case 'thread':
      return `/t/${route.channel}/${route.relPath}`;
    case 'nowhere':
      return route.path;
  }
}

/** The period in an address of Flow; what is no period there is left out. */
function periodOf(asked: URLSearchParams): { length?: number; until?: string } {
  const length = /^[1-9]\d{0,8}$/.exec(asked.get('length') ?? '')?.[0];
  const until = new Date(asked.get('until') ?? '');
  return {
    ...(length !== undefined && { length: Number(length) }),
    ...(!Number.isNaN(until.getTime()) && { until: until.toISOString() }),
  };
}

/** The part of an address after its path; what is undefined or empty is left out. */
function queryOf(fields: {
  q?: string;
  channel?: string | undefined;
  length?: number;
  until?: string;
}): string {
  const { q, channel, length, until } = fields;
  const given = Object.entries({ q, channel, length: length?.toString(), until }).filter(
    (field): field is [string, string] => field[1] !== undefined && field[1] !== '',
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
