import { isChannelId, isRelPath } from '../../protocol/names.ts';

/** The view of the page, as its address determines it. */
export type Route =
  | { view: 'now' }
  | { view: 'channels' }
  | { view: 'flow' }
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
        return { view: 'flow' };
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
      return '/flow';
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

function queryOf({ q, channel }: { q?: string; channel?: string | undefined }): string {
  const query = new URLSearchParams({
    ...(q === undefined || q === '' ? {} : { q }),
    ...(channel === undefined ? {} : { channel }),
  }).toString();
  return query === '' ? '' : `?${query}`;
}
