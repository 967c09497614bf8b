import { restored, withFile } from './attaching.ts';
import { lookAfter, lookAll, seen } from './looking.ts';
import {
  noticed,
  roomOf,
  step,
  withRoom,
  type ChatEvent,
  type ChatState,
  type Step,
  cleared,
  type Effect,
  type Key,
  type Completion,
} from './model.ts';
import type { Entry, Choice } from './port.ts';
import { skillsRead, submitted } from './submit.ts';
import { merged } from './threads.ts';
import { windowOf } from './view.ts';
import { answersFold, scrolled, selectThread, switchedBy, toggleSelected } from './moves.ts';
import { clean } from './clean.ts';
import { erase, insert, move, typed, vertical, type Input, type Motion } from './editing.ts';
import { COMMANDS } from './commands.ts';
import { trailingStart } from '../protocol/text/quoted.ts';
import { queuedLine } from '../present/state.ts';

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
  if (why !== undefined) return step(noticed(state, queuedLine(why), 'bad'));
  const queued = { ...state.queued };
  Reflect.deleteProperty(queued, relPath);
  const next = { ...state, queued };
  return step(next, ...lookAll(next));
}

/**
 * Takes back a message that could not be sent at all: its text goes back into the draft, or at least into the
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

/** Shows a notice beside something else; it does not take the place of a failure just reported. */
function aside(state: ChatState, text: string): ChatState {
  const { notice, now } = state;
  const isHeld = notice?.bad === true && notice.isAside !== true && now - notice.at < NOTICE_MS;
  return isHeld ? state : { ...state, notice: { text, bad: true, at: now, isAside: true } };
}

const MOTIONS: Readonly<Record<string, Motion>> = {
  left: 'left',
  right: 'right',
  'ctrl-b': 'left',
  'ctrl-f': 'right',
  home: 'lineStart',
  end: 'lineEnd',
  'ctrl-a': 'lineStart',
  'ctrl-e': 'lineEnd',
  'alt-left': 'wordLeft',
  'alt-right': 'wordRight',
  'ctrl-left': 'wordLeft',
  'ctrl-right': 'wordRight',
  'alt-b': 'wordLeft',
  'alt-f': 'wordRight',
};

const ERASURES: Readonly<Record<string, Motion>> = {
  backspace: 'left',
  delete: 'right',
  'ctrl-h': 'left',
  'ctrl-w': 'wordLeft',
  'alt-backspace': 'wordLeft',
  'ctrl-u': 'lineStart',
  'ctrl-k': 'lineEnd',
  'alt-d': 'wordRight',
};

/** Milliseconds for which a notice stays visible while somebody is typing. */
const NOTICE_MS = 3000;

/** Applies a key to the state. */
function pressed(before: ChatState, key: Key): Step {
  const { name } = key;
  if (name === 'tab' || name === 'shift-tab')
    return typing(before, cycle(before, name === 'tab' ? 1 : -1));
  const state = { ...before, completion: undefined, notice: noticeAfter(before, name) };
  const motion = MOTIONS[name];
  if (motion !== undefined) return step({ ...state, input: move(state.input, motion) });
  const erasure = ERASURES[name];
  if (erasure !== undefined) return edited(state, erase(state.input, erasure));
  switch (name) {
    case 'text':
      return edited(state, insert(state.input, clean(key.text)));
    case 'return':
    case 'enter':
      return entered(state);
    case 'alt-return':
    case 'alt-enter':
      return edited(state, insert(state.input, '\n'));
    case 'up':
    case 'down':
      return upOrDown(state, name === 'up' ? -1 : 1);
    case 'pageup':
    case 'pagedown':
      return scrolled(state, name === 'pageup' ? 1 : -1);
    case 'alt-up':
    case 'alt-down':
      return selectThread(state, name === 'alt-up' ? -1 : 1);
    case 'ctrl-n':
    case 'ctrl-p':
      return switchedBy(state, name === 'ctrl-n' ? 1 : -1);
    case 'ctrl-t':
      return step(answersFold(state));
    case 'ctrl-l':
      return step(state, { do: 'redraw' });
    case 'escape':
      return escaped(state);
    case 'ctrl-c':
      return interrupted(state);
    case 'ctrl-d':
      return state.input.text === ''
        ? step(state, { do: 'quit' })
        : edited(state, erase(state.input, 'right'));
    default:
      return step(state);
  }
}

function noticeAfter({ notice, now }: ChatState, key: string): ChatState['notice'] {
  const isRead = key !== 'text' || notice === undefined || now - notice.at > NOTICE_MS;
  return isRead ? undefined : notice;
}

function entered(state: ChatState): Step {
  const { text, cursor } = state.input;
  if (text.slice(0, cursor).endsWith('\\')) {
    const without = { text: text.slice(0, cursor - 1) + text.slice(cursor), cursor: cursor - 1 };
    return edited(state, insert(without, '\n'));
  }
  if (text.trim() !== '') return submitted(state);
  return toggleSelected(state);
}

/**
 * Closes the panel if one is open, otherwise drops the selection and scrolls to the newest message.
 */
function escaped(state: ChatState): Step {
  if (state.panel !== undefined) return step({ ...state, panel: undefined });
  return step({ ...state, selected: undefined, scroll: 0, below: 0 });
}

/**
 * Closes the panel, or clears the typed text, which stays in the history of this session, or quits.
 */
function interrupted(state: ChatState): Step {
  const { text } = state.input;
  if (state.panel !== undefined) return step({ ...state, panel: undefined });
  if (text === '') return step(state, { do: 'quit' });
  const history = [...state.history, text];
  return step({ ...cleared(state), history }, draft(state, ''));
}

function upOrDown(state: ChatState, by: -1 | 1): Step {
  const moved = vertical(state.input, by);
  if (moved !== undefined && state.browsing === undefined) return step({ ...state, input: moved });
  const { history, browsing } = state;
  const at = (browsing?.at ?? history.length) + by;
  const unsent = browsing?.draft ?? state.input.text;
  if (at < 0 || at > history.length) return step(state);
  if (at === history.length) return step({ ...state, input: typed(unsent), browsing: undefined });
  return step({ ...state, input: typed(history[at] ?? ''), browsing: { at, draft: unsent } });
}

function edited(state: ChatState, input: Input): Step {
  return typing(state, { ...state, input, browsing: undefined });
}

/** Stores the typed text as a draft if it changed. */
function typing(before: ChatState, state: ChatState): Step {
  const { text } = state.input;
  return text === before.input.text ? step(state) : step(state, draft(state, text));
}

function draft({ current }: ChatState, text: string): Effect {
  return { do: 'draft', channel: current, text };
}

/**
 * Returns the words that can be inserted at the cursor: addresses after `@` and `/to`, channels after `/channel`, and
 * commands and skills after `/` at the beginning.
 *
 * @returns undefined where nothing can be completed
 */
function completionAt(state: ChatState): Completion | undefined {
  const { text, cursor } = state.input;
  const before = text.slice(0, cursor);
  const start = trailingStart(before, /\S/);
  const word = before.slice(start);
  const [, command = ''] = /^\/(\w+)\s/.exec(before) ?? [];
  const found = (
    choices: readonly Choice[],
    from: number,
    suffix: string,
  ): Completion | undefined => {
    const typed = before.slice(from).toLowerCase();
    const matching = choices.filter(({ value }) => value.toLowerCase().startsWith(typed));
    const known = matching.map(({ value, description }) => ({
      value: `${value}${suffix}`,
      description,
    }));
    return known.length === 0 ? undefined : { choices: known, index: -1, start: from, end: cursor };
  };
  if (word.startsWith('/') && start === 0) {
    const commands = COMMANDS.map(({ name, summary }) => ({ value: name, description: summary }));
    return found([...commands, ...skillsOf(state)], start + 1, ' ');
  }
  // After the names of the addressees, only a skill can begin with a slash.
  if (word.startsWith('/') && /^(?:@\S+\s+)+$/.test(before.slice(0, start)))
    return found(state.skills ?? [], start + 1, ' ');
  if (command === 'to') {
    return found(state.addresses, start + word.lastIndexOf(',') + 1, '');
  }
  if (command === 'channel') {
    const rows = state.channels.map(({ name }) => ({ value: name, description: '' }));
    return found(rows, before.indexOf(command) + command.length + 1, '');
  }
  return word.startsWith('@') ? found(state.addresses, start + 1, ' ') : undefined;
}

/** Returns the skills that no command hides. */
function skillsOf({ skills = [] }: ChatState): Choice[] {
  return skills.filter(({ value }) => !COMMANDS.some(({ name }) => name === value));
}

/** Inserts the next (1) or previous (-1) choice at the cursor. */
function cycle(state: ChatState, by: 1 | -1): ChatState {
  const completion = state.completion ?? completionAt(state);
  if (completion === undefined) return state;
  const { choices, start, end } = completion;
  const count = choices.length;
  const fresh = completion.index < 0;
  const index = fresh ? (by > 0 ? 0 : count - 1) : (completion.index + by + count) % count;
  const value = choices[index]?.value ?? '';
  const { text } = state.input;
  const input = {
    text: text.slice(0, start) + value + text.slice(end),
    cursor: start + value.length,
  };
  const next = { ...completion, index, end: input.cursor };
  return { ...state, input, completion: count === 1 ? undefined : next };
}
