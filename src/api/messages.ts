import type { MessageRef } from '../protocol/message-ref.ts';
import type { Time } from './time.ts';

/** `GET /api/session`: what this window is onto, and what it may do. */
export interface WebSession {
  version: string;
  /** Name of the transport's folder. */
  transport: string;
  branch: string;
  /** The sender of what is sent without another. */
  from: string;
  /** This machine's alias; null while no host file is this machine's. */
  host: string | null;
  /** Every write is refused with 403. */
  read_only: boolean;
  /** Bytes that a message may have at most. */
  message_limit: number;
  event_id: string;
}

export interface WebMessage extends MessageRef {
  channel_name: string;
  from: string;
  to: string[];
  type: string;
  timestamp: Time;
  re: string[];
  cause: string[];
  tier: string | null;
  /** Alias of the host whose dispatcher wrote it; null for one written by hand or `send`. */
  host: string | null;
  /** Markdown as it was written, never HTML; only its beginning where `body_cut` says so. */
  body: string;
  body_cut: boolean;
  /** It waits in this machine's outbox and is not on the bus yet. */
  queued: boolean;
}

/** `GET /api/message`: never cut. `answered_by` are messages of any writer that name it in `re`. */
export interface WebMessageWhole extends WebMessage {
  answered_by: string[];
}

/** `GET /api/channels/{channel}/messages`: a window on a channel, oldest message first. */
export interface WebMessagePage {
  channel: string;
  channel_name: string;
  messages: WebMessage[];
  /** Messages of the channel on the bus. */
  total: number;
  /** How many of them are older than the first one here: where the window stands. */
  first: number;
  /** For `?before=`: null at the beginning of the channel. */
  before: string | null;
  /** For `?after=`: null at its end. */
  after: string | null;
  /** What this machine has yet to send to the channel; only with a page that ends at the end. */
  queued: WebMessage[];
  /** False while older messages are still being indexed: `total` and `first` grow. */
  complete: boolean;
  event_id: string;
}

/** One channel of the tree. */
export interface WebChannel {
  id: string;
  name: string;
  /** Id of the channel this is a subchannel of. */
  parent: string | null;
  /** How many channels it is below; the list is in the order of the tree. */
  depth: number;
  description: string;
  messages: number;
  /** When its newest message was written. */
  last: Time | null;
  /** Messages for `for` since that name last wrote there. */
  unread: number;
}

/** `GET /api/channels`. */
export interface WebChannels {
  for: string;
  channels: WebChannel[];
  event_id: string;
}

/** How far one addressee is with a message that wakes it, as far as this machine knows. */
export interface WebState {
  actor: string;
  state: 'answered' | 'queued' | 'running' | 'failed' | 'parked' | 'silent' | 'waiting';
  /** The host that runs it, the dead letter's id, or the answer's relPath. */
  detail: string | null;
  /** Seconds from the message to its answer, by their timestamps. */
  took_s: number | null;
}

/** A message of a thread, and what came of it. */
export interface WebThreadNode {
  relPath: string;
  from: string;
  to: string[];
  timestamp: Time;
  re: string[];
  cause: string[];
  /** The beginning of its text. */
  excerpt: string;
  states: WebState[];
  children: WebThreadNode[];
}

/** `GET /api/thread`, as `crosstalk thread --json`. */
export interface WebThread {
  channel: string;
  channel_name: string;
  /** The message that was asked for. */
  message: string;
  /** False for a part of a very long thread. */
  complete: boolean;
  roots: WebThreadNode[];
}

/** A message that was found. */
export interface WebHit extends MessageRef {
  channel_name: string;
  score: number;
  from: string;
  to: string[];
  timestamp: Time;
  excerpt: string;
  /** The messages around it in its channel; `hit` is where it stands among them. */
  context: { relPath: string; from: string; excerpt: string; hit: boolean }[];
}

/** `GET /api/search`, as `crosstalk search --json`. */
export interface WebSearch {
  hits: WebHit[];
  /** No message has all the words; these have some of them. */
  some_words: boolean;
  /** More than were ranked match; the newest were ranked. */
  capped: boolean;
  /** False while the index is being built: older messages are not in it yet. */
  complete: boolean;
}

/** Body of `POST /api/send`. */
export interface WebSendRequest {
  /** Names, `name@host`, `all`; separated by commas. */
  to: string;
  body: string;
  /** Id, unique id prefix or name; may be left out where there is only one. */
  channel?: string;
  from?: string;
  tier?: string;
  /** relPath of the message this answers. */
  re?: string;
}

/** Answer of `POST /api/send`, 202: it is safe on this machine's disk; what comes of it are events. */
export interface WebSent {
  /** Of the outbox entry. */
  id: string;
  channel: string;
  from: string;
  messages: { relPath: string; to: string[]; re: string[]; cause: string[] }[];
  state: 'queued';
  /** For the sender, such as that no host serves an addressee. */
  notes: string[];
}
