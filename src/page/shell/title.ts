import type { WebChannel } from '../../api/api.ts';
import type { Route } from '../route/route.ts';

/** Returns the window's title. */
export function titleOf(
  route: Route,
  channels: readonly WebChannel[] | undefined,
  transport: string | undefined,
): string {
  const where = transport === undefined ? 'Crosstalk' : `${transport} – Crosstalk`;
  const what = whatIs(route, channels);
  return what === '' ? where : `${what} – ${where}`;
}

function whatIs(route: Route, channels: readonly WebChannel[] | undefined): string {
  switch (route.view) {
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
