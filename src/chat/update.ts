import { restored, withFile } from './attaching.ts';
import { NOTICE_MS, pressed } from './keys.ts';
import { lookAfter, lookAll, seen } from './looking.ts';
import {
  noticed,
  roomOf,
  step,
  withRoom,
  type ChatEvent,
  type ChatState,
  type Step,
} from './model.ts';
import type { Entry } from './port.ts';
import { skillsRead } from './submit.ts';
import { merged } from './threads.ts';
import { windowOf } from './view.ts';

/** Applies an event: returns the next state, and the effects to carry out. A pure function. */
export function update(state: ChatState, event: ChatEvent): Step {
  switch (event.type) {
    case 'key':
      return pressed(state, event.key);
    case 'size':
      return step({ ...state, columns: event.columns, rows: event.rows });
    case 'tick':
      return step(state, ...lookAfter(state));
    case 'channels':
      return step({ ...state, channels: event.channels });
    case 'unread':
      return step({ ...state, unread: { ...event.unread, [state.current]: 0 } });
    case 'asking':
      return step({ ...state, asking: event.asking });
    case 'addresses':
      return step({ ...state, addresses: event.addresses });
    case 'skills':
      return skillsRead(state, event.skills);
    case 'page':
      return page(state, event.channel, event.entries, event.more);
    case 'pageFailed':
      return step(withRoom(noticed(state, event.text, 'bad'), event.channel, { older: 'more' }));
    case 'arrived':
      return arrived(state, event.entries);
    case 'standings': {
      const found = event.standings.map(({ relPath, states }) => [relPath, states] as const);
      return step({ ...state, standings: { ...state.standings, ...Object.fromEntries(found) } });
    }
    case 'sending':
      return sending(state, event.entry);
    case 'sent':
      return sent(state, event.sent.relPath, event.sent.queued);
    case 'refused':
      return refused(restored(state, event.attached), event.entry, event.typed, event.text);
    case 'attached':
      return step(withFile(state, event.attachment));
    case 'notAttached':
      return step(noticed({ ...state, reading: state.reading - 1 }, event.text, 'bad'));
    case 'notice':
      return step(noticed(state, event.text, event.bad ? 'bad' : 'plain'));
    case 'aside':
      return step(aside(state, event.text));
    case 'panel':
      return step({
        ...state,
        notice: undefined,
        panel: { title: event.title, lines: event.lines, top: 0 },
      });
  }
}

/** Adds messages to a conversation; if it is scrolled up, the visible lines stay in place. */
function added(state: ChatState, channel: string, entries: readonly Entry[]): ChatState {
  const known = roomOf(state, channel).entries;
  const next = withRoom(state, channel, { entries: merged(known, entries) });
  if (state.scroll === 0 || channel !== state.current) return next;
  const grown = windowOf({ ...next, panel: undefined }).total;
  const before = windowOf({ ...state, panel: undefined }).total;
  return { ...next, scroll: Math.max(1, state.scroll + grown - before) };
}

/**
 * Adds older messages above. The scroll position is counted from the bottom, so the visible lines
 * stay in place.
 */
function page(state: ChatState, channel: string, entries: Entry[], more: boolean): Step {
  const known = roomOf(state, channel).entries;
  const next = withRoom(state, channel, {
    entries: merged(known, entries),
    older: more ? 'more' : 'none',
  });
  const { height, total } = windowOf({ ...next, panel: undefined });
  // Folded threads take one line each, so there may be room for more.
  if (more && channel === next.current && total < height) {
    return step(withRoom(next, channel, { older: 'loading' }), ...lookAll(next), ...seen(next), {
      do: 'older',
      channel,
    });
  }
  return step(next, ...lookAll(next), ...seen(next));
}

function arrived(state: ChatState, entries: readonly Entry[]): Step {
  const fresh = entries.filter(
    ({ channel, relPath }) =>
      !roomOf(state, channel).entries.some((known) => known.relPath === relPath),
  );
  let next = state;
  for (const channel of new Set(entries.map((entry) => entry.channel))) {
    // A channel that was never opened is read when it is opened.
    if (next.rooms[channel] === undefined) continue;
    const own = entries.filter((entry) => entry.channel === channel);
    const marks = Object.fromEntries(own.map(({ relPath }) => [relPath, true as const]));
    next = withRoom(next, channel, { live: { ...roomOf(next, channel).live, ...marks } });
    next = added(next, channel, own);
  }
  const unread = { ...next.unread };
  for (const { channel, from } of fresh)
    if (channel !== next.current && from !== next.me) unread[channel] = (unread[channel] ?? 0) + 1;
  const here = fresh.filter(({ channel }) => channel === next.current).length;
  const queued = { ...next.queued };
  for (const { relPath } of entries) Reflect.deleteProperty(queued, relPath);
  const below = next.scroll > 0 ? next.below + here : 0;
  next = { ...next, unread, below, queued };
  return step(next, ...lookAll(next), ...seen(next));
}

function sending(state: ChatState, entry: Entry): Step {
  const { channel, relPath } = entry;
  const live = { ...roomOf(state, channel).live, [relPath]: true as const };
  const shown = withRoom(state, channel, { live });
  const next = added(
    {
      ...shown,
      panel: undefined,
      scroll: 0,
      below: 0,
      queued: { ...state.queued, [relPath]: true },
    },
    channel,
    [entry],
  );
  return step(next);
}

function sent(state: ChatState, relPath: string, why: string | undefined): Step {
  if (why !== undefined)
    return step(noticed(state, `queued, not on the remote yet: ${why}`, 'bad'));
  const queued = { ...state.queued };
  Reflect.deleteProperty(queued, relPath);
  const next = { ...state, queued };
  return step(next, ...lookAll(next));
}

/**
 * The message could not be sent at all: its text goes back into the draft, or at least into the
 * history.
 */
function refused(state: ChatState, entry: Entry, typedText: string, why: string): Step {
  const { channel, relPath } = entry;
  const entries = roomOf(state, channel).entries.filter((known) => known.relPath !== relPath);
  const queued = { ...state.queued };
  Reflect.deleteProperty(queued, relPath);
  const next = noticed(withRoom({ ...state, queued }, channel, { entries }), why, 'bad');
  const isFree = channel === state.current && state.input.text === '';
  if (!isFree) return step({ ...next, history: [...next.history, typedText] });
  return step(
    { ...next, input: { text: typedText, cursor: typedText.length } },
    { do: 'draft', channel, text: typedText },
  );
}

/** Shows what is said beside something else; it does not take the place of a failure just told. */
function aside(state: ChatState, text: string): ChatState {
  const { notice, now } = state;
  const isHeld = notice?.bad === true && notice.isAside !== true && now - notice.at < NOTICE_MS;
  return isHeld ? state : { ...state, notice: { text, bad: true, at: now, isAside: true } };
}
