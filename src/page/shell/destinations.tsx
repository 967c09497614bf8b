import type { JSX } from 'preact';
import type { WebNow } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import type { Route } from '../route/route.ts';
import { useModel } from '../live/use-live.ts';
import { Icon } from '../parts/icons.tsx';

type IconName = Parameters<typeof Icon>[0]['name'];

const PLACES: readonly { to: Route; name: string; icon: IconName; views: Route['view'][] }[] = [
  { to: { view: 'now' }, name: 'Now', icon: 'now', views: ['now'] },
  {
    to: { view: 'channels' },
    name: 'Talk',
    icon: 'talk',
    views: ['channels', 'channel', 'message', 'thread'],
  },
  { to: { view: 'flow' }, name: 'Flow', icon: 'flow', views: ['flow', 'cost'] },
  {
    to: { view: 'search', words: '' },
    name: 'Search',
    icon: 'search',
    views: ['search', 'skills', 'skill', 'notes', 'changes', 'note'],
  },
  { to: { view: 'write' }, name: 'Write', icon: 'write', views: ['write'] },
];

/** That something is stuck, or waits for what comes by itself. */
function Alarm({ now }: { now: WebNow }): JSX.Element {
  const isForYou = now.findings.some(({ kind }) => kind === 'act');
  return <span class={`stuck ${isForYou ? 'bad' : 'wait'}`}>{isForYou ? 'stuck' : 'waits'}</span>;
}

/** The links to the parts of the page; without the one for writing if the server is read-only. */
export function Destinations(): JSX.Element {
  const { route } = useNavigation();
  const { session, now } = useModel();
  const places = PLACES.filter(({ to }) => to.view !== 'write' || session?.read_only !== true);
  return (
    <ul class="plain">
      {places.map(({ to, name, icon, views }) => (
        <li key={name}>
          <Link to={to} current={views.includes(route.view)}>
            <Icon name={icon} />
            <span>{name}</span>
            {name === 'Now' && now !== undefined && !now.health.ok && <Alarm now={now} />}
          </Link>
        </li>
      ))}
    </ul>
  );
}
