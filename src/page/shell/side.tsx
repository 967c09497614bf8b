import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ChannelTree } from '../conversation/channel-tree.tsx';
import { useModel } from '../live/use-live.ts';
import { Destinations } from './destinations.tsx';
import { chosenTheme, turnTheme } from './theme.ts';
import icon from '../icon.svg';

/** The navigation on a wide screen: the parts of the page, and the channels. */
export function Side({ onHelp }: { onHelp: () => void }): JSX.Element {
  const { session } = useModel();
  return (
    <div class="side">
      <header class="brand">
        <img src={icon} alt="" width="24" height="24" />
        <bdi>{session?.transport ?? 'Crosstalk'}</bdi>
        {session?.read_only === true && <span class="chip">read-only</span>}
      </header>
      <nav aria-label="Parts">
        <Destinations />
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
