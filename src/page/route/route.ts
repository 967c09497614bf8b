import { isMemoryFile } from '../../protocol/files/memory-names.ts';
import { isChannelId, isRelPath } from '../../protocol/layout.ts';
import { isSkillName } from '../../protocol/text/skill-call.ts';

/** Kinds of rows of the inbox among which a reader chooses: what asks them, what failed, and what came for them. */
export const FILTERS = ['asks', 'failed', 'answers'] as const;
export type Filter = (typeof FILTERS)[number];

/** The view of the page, as its address determines it. */
export type Route =
  | { view: 'inbox'; show?: Filter }
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
  | { view: 'automation' }
  | { view: 'skills' }
  | { view: 'skill'; name: string }
  | ({ view: 'notes' } & NotesAsked)
  /** Changes of the notes. */
  | { view: 'changes' }
  /** One note, by its file name. */
  | { view: 'note'; file: string }
  | { view: 'nowhere'; path: string };

/** Filters of the shown notes; by default those in force, of any kind, for anybody, from the first one on. */
export interface NotesAsked {
  words?: string;
  scope?: string;
  kind?: string;
  state?: string;
  skip?: number;
}

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
      case '': {
        const show = FILTERS.find((filter) => filter === asked.get('show'));
        return { view: 'inbox', ...(show && { show }) };
      }
      case 'now':
        return { view: 'now' };
      case 'c':
        return { view: 'channels' };
      case 'flow':
        return { view: 'flow', ...periodOf(asked) };
      case 'cost':
        return { view: 'cost' };
      case 'automation':
        return { view: 'automation' };
      case 'skills':
        return { view: 'skills' };
      case 'notes':
        return { view: 'notes', ...notesIn(asked) };
      case 'changes':
        return { view: 'changes' };
      case 'write':
        return { view: 'write', ...inChannel };
      case 'search':
        return { view: 'search', words: asked.get('q') ?? '', ...inChannel };
      default:
        return nowhere;
    }
  }
  if (first === 'skills' && rest.length === 0 && isSkillName(channel))
    return { view: 'skill', name: channel };
  if (first === 'notes' && rest.length === 0 && isMemoryFile(channel))
    return { view: 'note', file: channel };
  if (!isChannelId(channel)) return nowhere;
  const relPath = rest.join('/');
  if (first === 'c' && relPath === '') return { view: 'channel', channel };
  if (!isRelPath(relPath)) return nowhere;
  if (first === 'm') return { view: 'message', channel, relPath };
  return first === 't' ? { view: 'thread', channel, relPath } : nowhere;
}

/** Returns the address of a route; {@link routeOf} parses it. */
export function pathOf(route: Route): string {
  switch (route.view) {
    case 'inbox':
      return `/${queryOf(route)}`;
    case 'now':
      return '/now';
    case 'channels':
      return '/c';
    case 'flow':
      return `/flow${queryOf(route)}`;
    case 'cost':
      return '/cost';
    case 'automation':
      return '/automation';
    case 'skills':
      return '/skills';
    case 'skill':
      return `/skills/${route.name}`;
    case 'notes':
      return `/notes${queryOf({ ...route, q: route.words, skip: route.skip?.toString() })}`;
    case 'changes':
      return '/changes';
    case 'note':
      return `/notes/${route.file}`;
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

/** Returns the period in an address of Flow; a part that is not a period is left out. */
function periodOf(asked: URLSearchParams): { length?: number; until?: string } {
  const length = /^[1-9]\d{0,8}$/.exec(asked.get('length') ?? '')?.[0];
  const until = new Date(asked.get('until') ?? '');
  return {
    ...(length !== undefined && { length: Number(length) }),
    ...(!Number.isNaN(until.getTime()) && { until: until.toISOString() }),
  };
}

/** Which notes an address asks for. */
function notesIn(asked: URLSearchParams): NotesAsked {
  const said = (name: string): string | undefined => {
    const text = asked.get(name);
    return text === null || text === '' ? undefined : text;
  };
  const [words, scope, kind, state] = ['q', 'scope', 'kind', 'state'].map(said);
  const skip = /^[1-9]\d{0,8}$/.exec(asked.get('skip') ?? '')?.[0];
  return {
    ...(words !== undefined && { words }),
    ...(scope !== undefined && { scope }),
    ...(kind !== undefined && { kind }),
    ...(state !== undefined && { state }),
    ...(skip !== undefined && { skip: Number(skip) }),
  };
}

/** Returns the part of an address after its path; undefined and empty fields are left out. */
function queryOf(fields: {
  show?: string;
  q?: string | undefined;
  channel?: string | undefined;
  length?: number;
  until?: string;
  scope?: string | undefined;
  kind?: string | undefined;
  state?: string | undefined;
  skip?: string | undefined;
}): string {
  const { show, q, channel, length, until, scope, kind, state, skip } = fields;
  const said = { show, q, channel, length: length?.toString(), until, scope, kind, state, skip };
  const given = Object.entries(said).filter(
    (field): field is [string, string] => field[1] !== undefined && field[1] !== '',
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
