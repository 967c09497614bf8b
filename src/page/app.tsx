import type { JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ChannelView } from './conversation/channel-view.tsx';
import { ChannelsView } from './conversation/channels-view.tsx';
import { SearchView } from './conversation/search-view.tsx';
import { ThreadView } from './conversation/thread-view.tsx';
import { WriteView } from './compose/write-view.tsx';
import { FlowView } from './flow/flow-view.tsx';
import { CostView } from './cost/cost-view.tsx';
import { InboxView, useInbox } from './inbox/inbox-view.tsx';
import { rowsOf, type Row } from './inbox/rows.ts';
import { Help } from './keys/help.tsx';
import type { Action } from './keys/keymap.ts';
import { useKeys } from './keys/use-keys.ts';
import { Live } from './live/live.ts';
import { LiveContext, useModel } from './live/use-live.ts';
import { NowView } from './now/now-view.tsx';
import { NavigationContext, useAddressBar, type Navigation } from './route/navigation.ts';
import type { Route } from './route/route.ts';
import { focusContent, keepFocus } from './shell/kept-focus.ts';
import { ChangesView } from './shelf/changes-view.tsx';
import { NoteView } from './shelf/note-view.tsx';
import { NotesView } from './shelf/notes-view.tsx';
import { AutomationView } from './shelf/automation-view.tsx';
import { SkillView, SkillsView } from './shelf/skill-view.tsx';
import { LiveLine, Side, Tabs } from './shell/side.tsx';
import { turnTheme } from './shell/theme.ts';
import { showInIcon, titleOf } from './shell/title.ts';
import { useScrollMemory } from './shell/use-scroll-memory.ts';
import { View } from './parts/view.tsx';

const live = new Live();

/** The whole page. */
export function App(): JSX.Element {
  const navigation = useAddressBar();
  return (
    <LiveContext.Provider value={live}>
      <NavigationContext.Provider value={navigation}>
        <Shell {...navigation} />
      </NavigationContext.Provider>
    </LiveContext.Provider>
  );
}

function Shell({ route, entry, go }: Navigation): JSX.Element {
  const [help, setHelp] = useState(false);
  const started = useContext(LiveContext);
  const { session, channels, now } = useModel();
  const inbox = useInbox();
  const rows = useMemo(() => inbox.value && now && rowsOf(inbox.value, now), [inbox.value, now]);
  const count = rows?.length ?? 0;
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    started.start();
  }, [started]);
  useEffect(() => {
    document.title = titleOf(route, channels, session?.transport, count);
    showInIcon(count);
  }, [route, channels, session, count]);
  // After navigation the heading gets the focus, which tells screen readers where the reader is.
  const here = route.view === 'message' || route.view === 'channel' ? 'channel' : route.view;
  const place = `${here} ${'channel' in route ? (route.channel ?? '') : ''}`;
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else if (!main.current?.contains(document.activeElement))
      main.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  }, [place]);
  useScrollMemory(main, entry);
  useEffect(() => (main.current === null ? undefined : keepFocus(main.current)), []);
  // A dialog returns the focus to where it was, which may have been nowhere.
  const wasOpen = useRef(false);
  useEffect(() => {
    const { activeElement } = document;
    const isNowhere = activeElement === document.body || activeElement?.closest('dialog') !== null;
    if (wasOpen.current && !help && isNowhere) focusContent(main.current);
    wasOpen.current = help;
  }, [help]);
  useKeys(undefined, (action) => act(action));
  const act = (action: Action): boolean => {
    const to = DESTINATIONS[action];
    if (to !== undefined) go(to);
    else if (action === 'help') setHelp((shown) => !shown);
    else if (action === 'theme') turnTheme();
    else if (action === 'close' && help) setHelp(false);
    else if (action === 'close') focusContent(main.current);
    else return false;
    return true;
  };
  return (
    <div class="shell">
      <a class="skip button" href="#main">
        Skip to the content
      </a>
      <Side
        count={count}
        onHelp={() => {
          setHelp(true);
        }}
      />
      <main class="main" id="main" tabIndex={-1} ref={main}>
        <Shown route={route} entry={entry} rows={rows} inbox={inbox} />
      </main>
      <Tabs count={count} />
      <LiveLine />
      <Help
        open={help}
        onClose={() => {
          setHelp(false);
        }}
      />
    </div>
  );
}

const DESTINATIONS: Partial<Record<Action, Route>> = {
  inbox: { view: 'inbox' },
  now: { view: 'now' },
  channels: { view: 'channels' },
  flow: { view: 'flow' },
  cost: { view: 'cost' },
  notes: { view: 'notes' },
  skills: { view: 'skills' },
  write: { view: 'write' },
  search: { view: 'search', words: '' },
};

interface ShownProps extends Pick<Navigation, 'route' | 'entry'> {
  inbox: ReturnType<typeof useInbox>;
  rows: readonly Row[] | undefined;
}

function Shown({ route, entry, inbox, rows }: ShownProps): JSX.Element {
  switch (route.view) {
    case 'inbox':
      return <InboxView inbox={inbox} rows={rows} show={route.show} />;
    case 'now':
      return <NowView />;
    case 'channels':
      return <ChannelsView />;
    case 'flow':
      return <FlowView key={entry} {...route} />;
    case 'cost':
      return <CostView />;
    case 'write':
      return <WriteView channel={route.channel} />;
    case 'search':
      return <SearchView words={route.words} channel={route.channel} />;
    case 'channel':
      return <ChannelView key={route.channel} channel={route.channel} />;
    case 'message':
      return <ChannelView key={route.channel} channel={route.channel} at={route.relPath} />;
    case 'thread':
      return <ThreadView channel={route.channel} relPath={route.relPath} />;
    case 'automation':
      return <AutomationView />;
    case 'skills':
      return <SkillsView />;
    case 'skill':
      return <SkillView name={route.name} />;
    case 'notes':
      return <NotesView asked={route} />;
    case 'changes':
      return <ChangesView />;
    case 'note':
      return <NoteView file={route.file} />;
    case 'nowhere':
      return (
        <View title="Nothing here">
          <p>No part of this page has the address {route.path.slice(0, 200)}.</p>
        </View>
      );
  }
}
