import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WebMessage } from '../../api/api.ts';
import { Composer } from '../compose/composer.tsx';
import { useKeys } from '../keys/use-keys.ts';
import type { Action } from '../keys/keymap.ts';
import { elementFor, Windowed } from '../list/windowed.tsx';
import type { ScrollPlace } from '../list/place.ts';
import { keepMark, loadMark } from '../live/read-marks.ts';
import { useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import { Problem, View } from '../parts/view.tsx';
import { plainOf } from '../text/plain.ts';
import { dayOf } from '../text/time.ts';
import { guessedHeight, MessageItem } from './message-item.tsx';
import { reachesEnd, shownOf } from './span.ts';
import { shownStatesOf } from '../live/states.ts';
import { useSpan } from './use-span.ts';

const keyOf = ({ relPath }: WebMessage): string => relPath;
/** Pixels above a message after jumping to it. */
const AIR = 48;
/** The number of messages loaded before the target of a jump. */
const BEFORE_JUMP = 20;

/** A channel's conversation, at its end or at one message. */
export function ChannelView({ channel, at }: { channel: string; at?: string }): JSX.Element {
  const { channels, known, now, pending, session } = useModel();
  const { go } = useNavigation();
  const [place, setPlace] = useState<ScrollPlace>('end');
  const [fresh, setFresh] = useState(0);
  const [current, setCurrent] = useState(at);
  const seen = useRef<{ key: string | undefined; atEnd: boolean }>({ key: at, atEnd: false });
  const box = useRef<HTMLDivElement>(null);
  // The mark of unread messages stays where it was when the channel was opened.
  const mark = useMemo(() => loadMark(localStorage, channel), [channel]);

  const { span, problem, more, load } = useSpan(
    channel,
    (arrived) => {
      if (!seen.current.atEnd) setFresh((count) => count + arrived.length);
    },
    () => (seen.current.atEnd ? undefined : seen.current.key),
  );
  const toEnd = async (): Promise<void> => {
    if (span === undefined || !reachesEnd(span)) await load(undefined);
    setFresh(0);
    setPlace('end');
  };
  const toMessage = async (relPath: string): Promise<void> => {
    if (span?.messages.some((one) => one.relPath === relPath) !== true)
      await load({ around: relPath });
    setCurrent(relPath);
    setPlace({ key: relPath, offset: AIR });
  };
  useEffect(() => {
    seen.current = { key: at, atEnd: at === undefined };
    if (at === undefined) void toEnd();
    else void toMessage(at);
  }, [channel, at]);

  const own = pending.filter((one) => one.channel === channel);
  const items = useMemo(() => (span === undefined ? [] : shownOf(span, own)), [span, pending]);
  const end = span !== undefined && reachesEnd(span);

  // Messages at the end that are on the screen count as read.
  const read = (): void => {
    const last = span?.messages.at(-1);
    if (span === undefined || !end || document.hidden) return;
    keepMark(localStorage, channel, { count: span.total, relPath: last?.relPath ?? '' });
  };
  useLayoutEffect(() => {
    if (seen.current.atEnd) read();
  }, [span]);

  const step = (by: 1 | -1): void => {
    const from = items.findIndex((one) => one.relPath === (current ?? seen.current.key));
    const next = items[from < 0 ? items.length - 1 : from + by] ?? items[from];
    if (next === undefined) return;
    setCurrent(next.relPath);
    const element = elementFor(box.current, next.relPath);
    if (element === undefined) setPlace({ key: next.relPath, offset: AIR });
    else element.scrollIntoView({ block: 'nearest' });
    focusSoon.current = next.relPath;
  };
  const focusSoon = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (focusSoon.current === undefined) return;
    const article = elementFor(box.current, focusSoon.current)?.querySelector('article');
    if (article === null || article === undefined) return;
    focusSoon.current = undefined;
    article.focus({ preventScroll: true });
  });
  useKeys('messages', (action: Action) => {
    if (action === 'next') step(1);
    else if (action === 'previous') step(-1);
    else if (action === 'first')
      void load({ at: 0 }).then((got) => {
        const key = got?.messages[0]?.relPath;
        if (key !== undefined) setPlace({ key, offset: 0 });
      });
    else if (action === 'last') void toEnd();
    else if (action === 'thread' && current !== undefined)
      go({ view: 'thread', channel, relPath: current });
    else return false;
    return true;
  });
  // A reader who drags the scroll bar continues from their position once this is loaded.
  const jump = (index: number): void => {
    if (jumping.current) return;
    jumping.current = true;
    void load({ at: Math.max(0, index - BEFORE_JUMP) }).then(() => {
      jumping.current = false;
    });
  };
  const jumping = useRef(false);

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
      <div class="talk" ref={box}>
        <Windowed
          items={items}
          before={span?.first ?? 0}
          after={span === undefined ? 0 : span.total - span.first - span.messages.length}
          keyOf={keyOf}
          guess={guessedHeight}
          label={`Messages in ${about?.name ?? 'this channel'}`}
          more={more}
          jump={jump}
          at={place}
          onPlace={(atEnd, key) => {
            seen.current = { key, atEnd };
            if (!atEnd) return;
            setFresh(0);
            read();
          }}
          show={(message) => (
            <MessageItem
              message={message}
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
        <div role="status" class="below">
          {(fresh > 0 || !end) && span !== undefined && (
            <button type="button" onClick={() => void toEnd()}>
              ↓ {fresh > 0 ? `${String(fresh)} new below` : 'to the newest'}
            </button>
          )}
        </div>
      </div>
      {session?.read_only === false && <Composer channel={channel} brief />}
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
