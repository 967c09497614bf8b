import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WebMessage } from '../../api/api.ts';
import { Composer } from '../compose/composer.tsx';
import { useKeys } from '../keys/use-keys.ts';
import type { Action } from '../keys/keymap.ts';
import { elementFor, Windowed } from '../list/windowed.tsx';
import { loadMark } from '../live/read-marks.ts';
import { useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { Problem, View } from '../parts/view.tsx';
import { useKinds } from '../parts/speaker.tsx';
import { plainOf } from '../text/plain.ts';
import { guessedHeight, MessageItem } from './message-item.tsx';
import { shownOf, useReading } from './use-reading.ts';
import { shownStatesOf } from '../live/model.ts';
import { dayOf } from '../../present/times.ts';

const keyOf = ({ relPath }: WebMessage): string => relPath;

/** A channel's conversation, at its end or at one message. */
export function ChannelView({ channel, at }: { channel: string; at?: string }): JSX.Element {
  const { channels, known, now, pending, session, problem: failed } = useModel();
  const { go, entry } = useNavigation();
  const kindOf = useKinds();
  const [current, setCurrent] = useState(at);
  const box = useRef<HTMLDivElement>(null);
  // The mark of unread messages stays where it was when the channel was opened.
  const mark = useMemo(() => loadMark(localStorage, channel), [channel]);
  const { span, problem, more, move, key, away, fresh, ...reading } = useReading(channel, at);
  const focusSoon = useRef<string | undefined>(undefined);
  const isFirst = useRef(true);
  useEffect(() => {
    if (at !== undefined) setCurrent(at);
    // Another view's heading gets the focus; within a conversation, the message does.
    if (!isFirst.current) focusSoon.current = at;
    isFirst.current = false;
  }, [at, entry]);

  const own = pending.filter((one) => one.channel === channel);
  const items = useMemo(() => (span === undefined ? [] : shownOf(span, own)), [span, pending]);

  const step = (by: 1 | -1): void => {
    const from = items.findIndex((one) => one.relPath === (current ?? key()));
    const next = items[from < 0 ? items.length - 1 : from + by] ?? items[from];
    if (next === undefined) return;
    setCurrent(next.relPath);
    const element = elementFor(box.current, next.relPath);
    if (element === undefined) reading.show(next.relPath);
    else element.scrollIntoView({ block: 'nearest' });
    focusSoon.current = next.relPath;
  };
  useEffect(() => {
    // Somebody who has started to write meanwhile continues.
    const isWriting = document.activeElement?.matches('input, textarea, select') === true;
    if (isWriting) focusSoon.current = undefined;
    if (focusSoon.current === undefined) return;
    const article = elementFor(box.current, focusSoon.current)?.querySelector('article');
    if (article === null || article === undefined) return;
    focusSoon.current = undefined;
    article.focus({ preventScroll: true });
  });
  useKeys('messages', (action: Action) => {
    if (action === 'next') step(1);
    else if (action === 'previous') step(-1);
    else if (action === 'first') void reading.toStart();
    else if (action === 'last') void reading.toEnd();
    else if (action === 'thread' && current !== undefined)
      go({ view: 'thread', channel, relPath: current });
    else return false;
    return true;
  });
  // Facts besides the messages add to their heights, and take room for writing.
  const isWhole = (now !== undefined && session !== undefined) || failed !== undefined;
  const about = channels?.find(({ id }) => id === channel);
  const unknown = channels !== undefined && about === undefined;
  const firstUnread = firstUnreadOf(items, mark?.relPath);
  const dayBefore = new Map(
    items.map((one, index) => [one.relPath, dayOf(items[index - 1]?.timestamp ?? '')]),
  );
  return (
    <View
      title={about?.name ?? (unknown ? 'No such channel' : ' ')}
      class="conversation"
      beside={
        <>
          <span class="dim position">{span === undefined ? '' : positionOf(span)}</span>
          <Link to={{ view: 'search', words: '', channel }} class="button">
            Search here
          </Link>
        </>
      }
    >
      <Problem words={problem} />
      <div class={isWhole ? 'talk' : 'talk partial'} ref={box}>
        <Windowed
          items={items}
          before={span?.first ?? 0}
          after={span === undefined ? 0 : span.total - span.first - span.messages.length}
          keyOf={keyOf}
          guess={guessedHeight}
          label={`Messages in ${about?.name ?? 'this channel'}`}
          more={more}
          jump={reading.jump}
          at={move}
          onPlace={reading.onPlace}
          show={(message, index) => (
            <MessageItem
              message={message}
              kind={kindOf(message.from, message.host)}
              position={index + 1}
              count={
                span?.complete === true ? span.total + items.length - span.messages.length : -1
              }
              states={shownStatesOf(
                message,
                known,
                now?.waiting.messages ?? [],
                items.filter(({ re }) => re.includes(message.relPath)),
              )}
              answered={message.re.map((relPath) => {
                const one = items.find((item) => item.relPath === relPath);
                return {
                  relPath,
                  from: one?.from,
                  excerpt: plainOf(one?.body.slice(0, 160) ?? ''),
                };
              })}
              current={message.relPath === current}
              newDay={dayBefore.get(message.relPath) !== dayOf(message.timestamp)}
              firstUnread={message.relPath === firstUnread}
            />
          )}
        />
        {span !== undefined && items.length === 0 && (
          <p class="dim empty">Nothing was written here yet.</p>
        )}
        <p role="status" class="aside">
          {away && fresh > 0 && `${String(fresh)} new ${fresh === 1 ? 'message' : 'messages'}`}
        </p>
        <div class="below">
          {away && span !== undefined && (
            <button
              type="button"
              onClick={() => {
                // The button vanishes; without this, the focus would be nowhere.
                box.current?.querySelector<HTMLElement>('[role=feed]')?.focus();
                void reading.toEnd();
              }}
            >
              ↓ {fresh > 0 ? `${String(fresh)} new below` : 'to the newest'}
            </button>
          )}
        </div>
      </div>
      {session?.read_only === false && (
        <Composer channel={channel} brief onSent={() => void reading.toEnd()} />
      )}
    </View>
  );
}

function firstUnreadOf(items: readonly WebMessage[], read: string | undefined): string | undefined {
  if (read === undefined) return undefined;
  const index = items.findIndex(({ relPath }) => relPath > read);
  return index > 0 ? items[index]?.relPath : undefined;
}

function positionOf({ total, complete }: { total: number; complete: boolean }): string {
  return `${total.toLocaleString()}${complete ? '' : '+'} ${total === 1 ? 'message' : 'messages'}`;
}
