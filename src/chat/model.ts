import type { Input } from './editing.ts';
import { EMPTY, typed } from './editing.ts';
import type { ChannelRow, Choice, Entry, EntryStanding, Opening, SentEntry } from './port.ts';

/** What is loaded of a channel. */
export interface Room {
  /** By relPath. */
  entries: Entry[];
  /** Whether older ones may be loaded, and whether they are being loaded. */
  older: 'unknown' | 'loading' | 'more' | 'none';
  /** relPaths of the roots that were folded (true) or unfolded (false) by hand. */
  folds: Record<string, boolean>;
  /** Messages that came while this was open: their threads stand unfolded. */
  live: Record<string, true>;
}

/** The words that could stand where the cursor is. */
export interface Completion {
  choices: Choice[];
  index: number;
  /** Where in the text the present choice stands. */
  start: number;
  end: number;
}

/** Something to be read in place of the conversation. */
export interface Panel {
  title: string;
  lines: string[];
  /** Lines above the first one shown. */
  top: number;
}

/** Everything that is on the screen follows from this. */
export interface ChatState {
  columns: number;
  rows: number;
  /** Milliseconds since 1970. */
  now: number;
  me: string;
  channels: ChannelRow[];
  /** By id of the channel. */
  unread: Record<string, number>;
  /** Id of the channel on the screen. */
  current: string;
  rooms: Record<string, Room>;
  addresses: Choice[];
  /** Default addressees. */
  to: string;
  input: Input;
  drafts: Record<string, string>;
  history: string[];
  /** Where in the history the input comes from, and what was typed before. */
  browsing: { at: number; draft: string } | undefined;
  completion: Completion | undefined;
  notice: { text: string; bad: boolean; at: number } | undefined;
  panel: Panel | undefined;
  /** Lines of the conversation below the window; 0 follows it. */
  scroll: number;
  /** Messages that came while scrolled up. */
  below: number;
  /** relPath of the root that a key folds. */
  selected: string | undefined;
  standings: Record<string, EntryStanding['states']>;
  /** Messages of this chat that are not on the bus yet. */
  queued: Record<string, true>;
}

/** A key as it was pressed. */
export interface Key {
  /** As `node:readline` names them, with `ctrl-` and `alt-` before it; `text` for what is typed. */
  name: string;
  text: string;
}

/** What can happen. */
export type ChatEvent =
  | { type: 'key'; key: Key }
  | { type: 'size'; columns: number; rows: number }
  | { type: 'tick' }
  | { type: 'channels'; channels: ChannelRow[] }
  | { type: 'unread'; unread: Record<string, number> }
  | { type: 'addresses'; addresses: Choice[] }
  | { type: 'page'; channel: string; entries: Entry[]; more: boolean }
  | { type: 'pageFailed'; channel: string; text: string }
  | { type: 'arrived'; entries: Entry[] }
  | { type: 'standings'; standings: EntryStanding[] }
  | { type: 'sending'; entry: Entry }
  | { type: 'sent'; sent: SentEntry }
  | { type: 'refused'; entry: Entry; typed: string; text: string }
  | { type: 'notice'; text: string; bad: boolean }
  | { type: 'panel'; title: string; lines: string[] };

/** What is to be done outside. */
export type Effect =
  | { do: 'send'; channel: string; to: string; body: string; typed: string }
  | { do: 'older'; channel: string }
  | { do: 'look'; channel: string; known: Entry[]; wanted: string[] }
  | { do: 'draft'; channel: string; text: string }
  | { do: 'remember'; line: string }
  | { do: 'seen'; channel: string; relPath: string }
  | { do: 'thread'; message: string }
  | { do: 'search'; channel: string; words: string }
  | { do: 'status' }
  | { do: 'retry'; id: string }
  | { do: 'redraw' }
  | { do: 'quit' };

/** What comes of an event. */
export interface Step {
  state: ChatState;
  effects: Effect[];
}

export function step(state: ChatState, ...effects: Effect[]): Step {
  return { state, effects };
}

const NO_ROOM: Room = { entries: [], older: 'unknown', folds: {}, live: {} };

export function roomOf({ rooms }: ChatState, channel: string): Room {
  return rooms[channel] ?? NO_ROOM;
}

export function withRoom(state: ChatState, channel: string, change: Partial<Room>): ChatState {
  const room = { ...roomOf(state, channel), ...change };
  return { ...state, rooms: { ...state.rooms, [channel]: room } };
}

/** @param size in columns and rows */
export function begin(
  { me, channels, current, to, history, drafts }: Opening,
  size: { columns: number; rows: number },
  now: number,
): Step {
  const state: ChatState = {
    ...size,
    now,
    me,
    channels,
    unread: {},
    current,
    rooms: { [current]: { ...NO_ROOM, older: 'loading' } },
    addresses: [],
    to,
    input: typed(drafts[current] ?? ''),
    drafts,
    history,
    browsing: undefined,
    completion: undefined,
    notice: undefined,
    panel: undefined,
    scroll: 0,
    below: 0,
    selected: undefined,
    standings: {},
    queued: {},
  };
  return step(state, { do: 'older', channel: current });
}

/** The input emptied, as after sending. */
export function cleared(state: ChatState): ChatState {
  return { ...state, input: EMPTY, browsing: undefined, completion: undefined };
}

/** How a notice is meant. */
export type Tone = 'plain' | 'bad';

export function noticed(state: ChatState, text: string, tone: Tone): ChatState {
  return { ...state, notice: { text, bad: tone === 'bad', at: state.now } };
}

/** The name of a channel, for people. */
export function channelName({ channels }: ChatState, id: string): string {
  return channels.find((channel) => channel.id === id)?.name ?? id;
}
