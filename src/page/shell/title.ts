import type { WebChannel } from '../../api/api.ts';
import type { Route } from '../route/route.ts';

/**
 * Returns the window's title.
 *
 * @param count number of things that wait for the reader
 */
export function titleOf(
  route: Route,
  channels: readonly WebChannel[] | undefined,
  transport: string | undefined,
  count = 0,
): string {
  const where = transport === undefined ? 'Crosstalk' : `${transport} – Crosstalk`;
  const what = whatIs(route, channels);
  return `${count === 0 ? '' : `(${String(count)}) `}${what === '' ? where : `${what} – ${where}`}`;
}

/** Shows the number of things that wait for the reader in the icon of the window, or the icon alone for none. */
export function showInIcon(count: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  if (link === null) return;
  link.dataset['plain'] ??= link.href;
  const shown = count > 99 ? '99+' : String(count);
  const counted = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0072b2"/><text x="16" y="23" font-family="sans-serif" font-size="${shown.length > 2 ? '15' : '20'}" font-weight="700" fill="#fff" text-anchor="middle">${shown}</text></svg>`;
  link.href =
    count === 0 ? link.dataset['plain'] : `data:image/svg+xml,${encodeURIComponent(counted)}`;
}

function whatIs(route: Route, channels: readonly WebChannel[] | undefined): string {
  switch (route.view) {
    case 'inbox':
      return 'Inbox';
    case 'now':
      return 'Now';
    case 'channels':
      return 'Conversations';
    case 'flow':
      return 'Flow';
    case 'cost':
      return 'Cost';
    case 'write':
      return 'Write';
    case 'search':
      return 'Search';
    case 'channel':
    case 'message':
      return channels?.find(({ id }) => id === route.channel)?.name ?? '';
    case 'thread':
      return 'Thread';
    case 'automation':
      return 'Automation';
    case 'skills':
      return 'Skills';
    case 'skill':
      return `/${route.name}`;
    case 'notes':
      return 'Notes';
    case 'changes':
      return 'Changes of the notes';
    case 'note':
      return 'Note';
    case 'nowhere':
      return 'Nothing here';
  }
}
