import type { Standing } from '../actions/tracing/thread.ts';
import type { Input } from './editing.ts';
import { EMPTY, typed } from './editing.ts';
import type { Attachment, ChannelRow, Choice, Entry, Opening, SentEntry } from './port.ts';

/** The loaded part of a channel. */
export interface Room {
  /** In the order of their relPath. */
  entries: Entry[];
  /** Whether older messages may be loaded, and whether they are being loaded. */
  older: 'unknown' | 'loading' | 'more' | 'none';
  /** relPaths of the threads' roots that the user folded (true) or unfolded (false). */
  folds: Record<string, boolean>;
  /** Messages that arrived while the channel was open: their threads are shown unfolded. */
  live: Record<string, true>;
}

/** The words that can be inserted at the cursor. */
export interface Completion {
  choices: Choice[];
  index: number;
  /** Offset in the text at which the current choice begins. */
  start: number;
  end: number;
}

/** A text that is shown instead of the conversation. */
export interface Panel {
  title: string;
  lines: string[];
  /** The number of lines above the first visible one. */
  top: number;
}

/** The state of the chat, from which everything on the screen is computed. */
export interface ChatState {
  columns: number;
  rows: number;
  /** Milliseconds since 1970. */
  now: number;
  me: string;
  channels: ChannelRow[];
  /** The number of unread messages, by id of the channel. */
  unread: Record<string, number>;
  /** The number of messages that ask the user something. */
  asking: number;
  /** Id of the channel on the screen. */
  current: string;
  rooms: Record<string, Room>;
  addresses: Choice[];
  /** Undefined until they are known. */
  skills: Choice[] | undefined;
  /** Message that was to be sent before the skills were read; it is sent as soon as they are, unless it is changed. */
  untilSkills: string | undefined;
  /** Default addressees. */
  to: string;
  input: Input;
  /** The files that go along with the next message. */
  attached: readonly Attachment[];
  /** The number of files that are being read. */
  reading: number;
  drafts: Record<string, string>;
  history: string[];
  /** The position in the history that the input came from, and the text that was typed before. */
  browsing: { at: number; draft: string } | undefined;
  completion: Completion | undefined;
  notice: Notice | undefined;
  panel: Panel | undefined;
  /**
   * The number of lines of the conversation below the window; at 0 the window follows new messages.
   */
  scroll: number;
  /** The number of messages that arrived while the window was scrolled up. */
  below: number;
  /** relPath of the root of the selected thread, which a key folds or unfolds. */
  selected: string | undefined;
  standings: Record<string, Standing['states']>;
  /** Messages sent from this chat that are not on the bus yet. */
  queued: Record<string, true>;
}

/** A key as it was pressed. */
export interface Key {
  /**
   * The name that `node:readline` gives it, with `ctrl-` and `alt-` as prefixes; `text` for typed
   * characters.
   */
  name: string;
  text: string;
}

/** The events of a chat. */
export type ChatEvent =
  | { type: 'key'; key: Key }
  | { type: 'size'; columns: number; rows: number }
  | { type: 'tick' }
  | { type: 'channels'; channels: ChannelRow[] }
  | { type: 'unread'; unread: Record<string, number> }
  | { type: 'asking'; asking: number }
  | { type: 'addresses'; addresses: Choice[] }
  | { type: 'skills'; skills: Choice[] }
  | { type: 'page'; channel: string; entries: Entry[]; more: boolean }
  | { type: 'pageFailed'; channel: string; text: string }
  | { type: 'arrived'; entries: Entry[] }
  | { type: 'standings'; standings: Standing[] }
  | { type: 'sending'; entry: Entry }
  | { type: 'sent'; sent: SentEntry }
  | {
      type: 'refused';
      entry: Entry;
      typed: string;
      text: string;
      attached?: readonly Attachment[];
    }
  | { type: 'attached'; attachment: Attachment }
  | { type: 'notAttached'; text: string }
  | { type: 'notice'; text: string; bad: boolean }
  | { type: 'aside'; text: string }
  | { type: 'panel'; title: string; lines: string[] };

/** Message to a channel; `typed` comes back when it cannot be sent. */
interface Spoken {
  channel: string;
  body: string;
  typed: string;
  attached?: readonly Attachment[];
}

/** The effects to carry out outside of the state. */
export type Effect =
  | ({ do: 'send'; to: string } & Spoken)
  | ({ do: 'reply'; message: string; again?: true } & Spoken)
  /** Without `to`, to whom the message that it is about was sent. */
  | ({ do: 'now'; message: string; to?: string } & Spoken)
  | { do: 'attach'; file: string; waiting: readonly Attachment[] }
  | { do: 'copy'; message: string }
  | { do: 'actors' }
  | { do: 'skills' }
  | { do: 'memory'; words: string }
  | { do: 'inbox' }
  | { do: 'older'; channel: string }
  | { do: 'look'; channel: string; known: Entry[]; wanted: string[] }
  | { do: 'draft'; channel: string; text: string }
  | { do: 'remember'; line: string }
  | { do: 'seen'; channel: string; relPath: string }
  | { do: 'thread'; message: string }
  | { do: 'read'; message: string }
  | { do: 'search'; channel: string; words: string }
  | { do: 'status' }
  | { do: 'retry'; id: string }
  | { do: 'cancel'; message: string }
  | { do: 'decide'; decision: 'approve' | 'deny'; message: string; note: string }
  | { do: 'redraw' }
  | { do: 'quit' };

/** The result of an event: the next state and the effects. */
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

/** @param size of the terminal, in columns and rows */
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
    asking: 0,
    current,
    rooms: { [current]: { ...NO_ROOM, older: 'loading' } },
    addresses: [],
    skills: undefined,
    untilSkills: undefined,
    to,
    input: typed(drafts[current] ?? ''),
    attached: [],
    reading: 0,
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

/** Returns the state with the input emptied, as after sending. */
export function cleared(state: ChatState): ChatState {
  return { ...state, input: EMPTY, browsing: undefined, completion: undefined };
}

/** A line above the input; an aside was not caused by the person's last action. */
interface Notice {
  text: string;
  bad: boolean;
  at: number;
  isAside?: boolean;
}

/** Tone of a notice. */
export type Tone = 'plain' | 'bad';

export function noticed(state: ChatState, text: string, tone: Tone): ChatState {
  return { ...state, notice: { text, bad: tone === 'bad', at: state.now } };
}

/** Returns the name of a channel, for people. */
export function channelName({ channels }: ChatState, id: string): string {
  return channels.find((channel) => channel.id === id)?.name ?? id;
}
