import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ChannelTree } from '../conversation/channel-tree.tsx';
import { useModel } from '../live/use-live.ts';
import { chosenTheme, turnTheme } from './theme.ts';
import icon from '../icon.svg';
import type { WebNow } from '../../api/api.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import type { Route } from '../route/route.ts';
import { Icon } from '../parts/speaker.tsx';
import { connectionWords } from '../live/model.ts';

type IconName = Parameters<typeof Icon>[0]['name'];

const PLACES: readonly { to: Route; name: string; icon: IconName; views: Route['view'][] }[] = [
  { to: { view: 'inbox' }, name: 'Inbox', icon: 'inbox', views: ['inbox'] },
  {
    to: { view: 'channels' },
    name: 'Talk',
    icon: 'talk',
    views: ['channels', 'channel', 'message', 'thread'],
  },
  { to: { view: 'now' }, name: 'Now', icon: 'now', views: ['now'] },
  { to: { view: 'flow' }, name: 'Flow', icon: 'flow', views: ['flow', 'cost'] },
  {
    to: { view: 'search', words: '' },
    name: 'Search',
    icon: 'search',
    views: ['search', 'automation', 'skills', 'skill', 'notes', 'changes', 'note'],
  },
  { to: { view: 'write' }, name: 'Write', icon: 'write', views: ['write'] },
];

/** Sign that something is stuck, or waits for something that comes automatically. */
function Alarm({ now }: { now: WebNow }): JSX.Element {
  const isForYou = now.findings.some(({ kind }) => kind === 'act');
  return <span class={`stuck ${isForYou ? 'bad' : 'wait'}`}>{isForYou ? 'stuck' : 'waits'}</span>;
}

/** Number of things that wait for the reader. */
interface Counted {
  count: number;
}

/** The links to the parts of the page; without the one for writing if the server is read-only. */
function Destinations({ count }: Counted): JSX.Element {
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
            {name === 'Inbox' && count > 0 && (
              <span class="unread">
                {count}
                <span class="aside"> for you</span>
              </span>
            )}
            {name === 'Now' && now !== undefined && !now.health.ok && <Alarm now={now} />}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** The navigation on a wide screen: the parts of the page, and the channels. */
export function Side({ onHelp, count }: { onHelp: () => void } & Counted): JSX.Element {
  const { session } = useModel();
  return (
    <div class="side">
      <header class="brand">
        <img src={icon} alt="" width="24" height="24" />
        <bdi>{session?.transport ?? 'Crosstalk'}</bdi>
        {session?.read_only === true && <span class="chip">read-only</span>}
      </header>
      <nav aria-label="Parts">
        <Destinations count={count} />
      </nav>
      <nav class="channels" aria-label="Channels" tabIndex={-1}>
        <h2>Channels</h2>
        <ChannelTree />
      </nav>
      <div class="foot">
        <ThemeButton />
        <button type="button" onClick={onHelp}>
          Keys <kbd>?</kbd>
        </button>
      </div>
    </div>
  );
}

function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useState(chosenTheme);
  useEffect(() => {
    const turned = (): void => {
      setTheme(chosenTheme());
    };
    addEventListener('crosstalk-theme', turned);
    return () => {
      removeEventListener('crosstalk-theme', turned);
    };
  }, []);
  return (
    <button type="button" onClick={turnTheme} title="Light, dark, or as the system has it">
      Theme: {theme}
    </button>
  );
}

/** The navigation on a narrow screen. */
export function Tabs({ count }: Counted): JSX.Element {
  return (
    <nav class="tabs" aria-label="Parts">
      <Destinations count={count} />
    </nav>
  );
}

/** Shows that the page is not live, above everything else and without moving it. */
export function LiveLine(): JSX.Element {
  const { connection, refusal, problem } = useModel();
  return (
    <div class="live bad" role="status">
      {connectionWords(connection, refusal) ?? problem}
    </div>
  );
}
