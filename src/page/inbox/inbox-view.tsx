import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WebInbox, WebSeenRequest } from '../../api/api.ts';
import { messageKey } from '../../protocol/layout.ts';
import { useKeys } from '../keys/use-keys.ts';
import type { Action } from '../keys/keymap.ts';
import { get, post, wordsOf } from '../live/api.ts';
import { useLoaded, useModel, type Loaded } from '../live/use-live.ts';
import { Verdict } from '../now/verdict.tsx';
import { Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { FILTERS, type Filter } from '../route/route.ts';
import { RowItem } from './row-item.tsx';
import { groupsOf, withNews, type Row, type ShownRow } from './rows.ts';

/** The most messages that are loaded. */
const MOST = 200;
/** Milliseconds until it is loaded again when messages were not counted yet. */
const INCOMPLETE_MS = 2000;

/** Loads what waits for the reader. */
export function useInbox(): Loaded<WebInbox> & { again: () => void } {
  const loaded = useLoaded(
    'inbox',
    (signal) => get<WebInbox>('inbox', { open: 1, limit: MOST }, signal),
    ['reset', 'messages', 'outbox'],
  );
  const { value, again } = loaded;
  useEffect(() => {
    if (value?.complete !== false) return undefined;
    const timer = setTimeout(again, INCOMPLETE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return loaded;
}

/** Actions on a row. */
const OF_A_ROW: readonly Action[] = ['thread', 'reply', 'approve', 'deny', 'done'];

interface Props {
  inbox: ReturnType<typeof useInbox>;
  rows: readonly Row[] | undefined;
  /** The only kind of rows that is wanted. */
  show: Filter | undefined;
}

/** Everything that waits for the reader, to be dealt with in its place. */
export function InboxView({ inbox, rows, show }: Props): JSX.Element {
  const { now, session } = useModel();
  const { go } = useNavigation();
  const all = useShown(rows);
  const list = useRef<HTMLUListElement>(null);
  /** Key of the row that had the focus last. */
  const current = useRef('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const shown = all.filter(({ filter }) => show === undefined || filter === show);
  const done = ({ item }: Row): void => {
    if (item === undefined) return;
    setProblem(undefined);
    post<WebSeenRequest>('seen', { messages: [messageKey(item)] }).then(
      inbox.again,
      (error: unknown) => {
        setProblem(wordsOf(error));
      },
    );
  };
  const elements = (): HTMLElement[] => [
    ...(list.current?.querySelectorAll<HTMLElement>('.row') ?? []),
  ];
  const act = (action: Action): boolean => {
    const at = shown.findIndex(({ key }) => key === current.current);
    const row = shown[at];
    if (action === 'next' || action === 'previous') {
      const to = action === 'next' ? Math.min(at + 1, shown.length - 1) : Math.max(at - 1, 0);
      elements()[to]?.focus();
      return true;
    }
    if (row === undefined || !OF_A_ROW.includes(action)) return false;
    if (action === 'thread') {
      const { item, letter } = row;
      const place = item ?? (letter && { ...letter, relPath: letter.messages[0] ?? '' });
      if (place) go({ view: 'thread', channel: place.channel, relPath: place.relPath });
      return true;
    }
    return press(elements()[at], action);
  };
  useKeys('inbox', act);
  return (
    <View title="Inbox" class="inbox">
      <Problem words={problem ?? inbox.problem} />
      {/* Nothing stands below the verdict before it is there: it would be moved. */}
      {now !== undefined && (
        <>
          <Verdict now={now} />
          <Filters rows={all} show={show} />
        </>
      )}
      {(now === undefined || rows === undefined) && inbox.problem === undefined && (
        <p key={String(now === undefined)} class="dim" role="status">
          Loading…
        </p>
      )}
      {now !== undefined && rows !== undefined && shown.length === 0 && (
        <p class="dim empty">
          Nothing waits for you. What agents ask you, what fails, and the answers to what you asked
          come here
          {session?.read_only === false && (
            <>
              ; <Link to={{ view: 'write' }}>write to one</Link> to begin
            </>
          )}
          .
        </p>
      )}
      <ul class="plain queue" aria-label="What waits for you" ref={list}>
        {groupsOf(now === undefined ? [] : shown).map((group) => (
          <li key={group[0]?.key} class="group">
            {group.map((row) => (
              <RowItem
                key={row.key}
                row={row}
                isFirst={row === group[0]}
                onDone={() => {
                  done(row);
                }}
                onFocus={() => {
                  current.current = row.key;
                }}
              />
            ))}
          </li>
        ))}
      </ul>
      {(inbox.value?.messages.length ?? 0) >= MOST && (
        <p class="dim">These are the newest {MOST}; what is done makes room for the others.</p>
      )}
    </View>
  );
}

/** Keeps rows in their places from the moment when they were shown. */
function useShown(rows: readonly Row[] | undefined): readonly ShownRow[] {
  const kept = useRef<{ of: readonly Row[]; shown: ShownRow[] }>({ of: [], shown: [] });
  if (rows !== undefined && rows !== kept.current.of)
    kept.current = { of: rows, shown: withNews(kept.current.shown, rows) };
  return kept.current.shown;
}

/** Presses the button of a row for a key; what decides is only given the focus, so that nothing is decided unread. */
function press(row: HTMLElement | undefined, action: Action): boolean {
  const button = row?.querySelector<HTMLButtonElement>(`[data-act~=${action}]`);
  if (button) button.click();
  else if (action === 'approve') row?.querySelector<HTMLElement>('.proposal .primary')?.focus();
  else if (action === 'deny') row?.querySelector<HTMLElement>('.proposal textarea')?.focus();
  if (action === 'reply')
    setTimeout(() => row?.querySelector<HTMLElement>('.reply textarea')?.focus());
  return row !== undefined;
}

const NAMES: Record<Filter, string> = { asks: 'Asks me', failed: 'Failed', answers: 'Answers' };

/** Links to the kinds of rows, each with its number. */
function Filters({
  rows,
  show,
}: {
  rows: readonly ShownRow[];
  show: Filter | undefined;
}): JSX.Element {
  const open = rows.filter(({ isOver }) => !isOver);
  return (
    <nav aria-label="What is shown">
      <ul class="plain filters">
        {[undefined, ...FILTERS].map((filter) => (
          <li key={filter ?? ''}>
            <Link
              to={filter === undefined ? { view: 'inbox' } : { view: 'inbox', show: filter }}
              class="button"
              current={show === filter}
            >
              {filter === undefined ? 'All' : NAMES[filter]}{' '}
              <span class="dim">
                {open.filter((row) => filter === undefined || row.filter === filter).length}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
