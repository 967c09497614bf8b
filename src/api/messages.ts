import type { MessageRef } from '../protocol/message-ref.ts';
import type { BranchOnRecord } from '../protocol/text/branch.ts';
import type { WebDelay, WebGate, Time } from './now.ts';
import type { Decision } from '../protocol/text/decision.ts';

/** `GET /api/session`: what this window shows, and what it may do. */
export interface WebSession {
  version: string;
  /** Name of the transport's folder. */
  transport: string;
  branch: string;
  /** The default sender. */
  from: string;
  /** This machine's alias; null as long as this machine has no host file. */
  host: string | null;
  /** Whether every write is refused with 403. */
  read_only: boolean;
  /** Whether this window may decide on what actors propose. */
  may_decide: boolean;
  /** The maximum size of a message in bytes. */
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
  /** The answers that it offers, to choose one by its number, from 1. */
  options: string[];
  /** The body is JSON that fits the schema of what it answers. */
  json?: boolean;
  /** The JSON Schema that an answer to it has to fit, as JSON text. */
  schema?: string;
  /** Whether it waits in this machine's outbox and is not on the bus yet. */
  queued: boolean;
  /** The files that it brings along, in order. */
  files: WebFile[];
  /** What it is if it only looks like an answer: a word on the way to one, or the notice of a failure. */
  mark?: 'interim' | 'failure' | 'cancel';
  force?: WebForce;
  /** Whether its writer has signed it; only where a key of that name is pinned on this machine. */
  verified?: boolean;
  /** The branch on which the run worked that wrote it, in the repository of its host; as it claims. */
  branch?: BranchOnRecord;
  /** Somebody has to decide on it. */
  proposal?: boolean;
}

/** `GET /api/branch`: what the branch of an answer changed, where this machine has it. */
export interface WebBranchDiff extends BranchOnRecord {
  /** The folder of the repository, or of the copy of it, in which it was found. */
  place: string;
  /** The beginning of the patch; characters that are not drawn are escaped, except line feeds and tabs. */
  patch: string;
  /** Whether the patch is longer. */
  cut: boolean;
}

/** A file that a message brings along; everything is as its sender claims. */
export interface WebFile {
  /** Of its bytes, in hex. */
  sha256: string;
  /** What its sender called it. */
  name: string;
  bytes: number;
  /** A media type, such as `image/png`. */
  type: string;
}

/**
 * `GET /api/message`: the body is never cut. `answered_by` are messages of any writer that name it
 * in `re`.
 */
export interface WebMessageWhole extends WebMessage {
  answered_by: string[];
}

/** `GET /api/channels/{channel}/messages`: a part of a channel, oldest message first. */
export interface WebMessagePage {
  channel: string;
  channel_name: string;
  messages: WebMessage[];
  /** The number of messages of the channel on the bus. */
  total: number;
  /** How many of them are older than the first one here: the position of this page in the channel. */
  first: number;
  /** The value for `?before=`; null at the beginning of the channel. */
  before: string | null;
  /** The value for `?after=`; null at the end of the channel. */
  after: string | null;
  /**
   * Messages that this machine has yet to send to the channel; only on the page at the end of the
   * channel.
   */
  queued: WebMessage[];
  /** False while older messages are still being indexed: `total` and `first` grow. */
  complete: boolean;
  event_id: string;
}

/** One channel of the tree. */
export interface WebChannel {
  id: string;
  name: string;
  /** Id of the channel above it; null for a channel at the top. */
  parent: string | null;
  /** Its depth in the tree, which is 0 at the top; the list is in the order of the tree. */
  depth: number;
  description: string;
  messages: number;
  /** When its newest message was written. */
  last: Time | null;
  /** Messages to the name in `for` that it has not seen on the machine of the server. */
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
  state:
    'answered' | 'queued' | 'running' | 'failed' | 'cancelled' | 'parked' | 'silent' | 'waiting';
  /** The host that runs it, the dead letter's id, or the relPath of the answer or of what took it back. */
  detail: string | null;
  /** Seconds between the message and its answer. */
  took_s: number | null;
  /** Since when it runs, or why it failed or waits, and until when; null if nothing more is known. */
  delay: WebDelay | null;
  /** The other host that has the dead letter, if a notice of it says that it failed there. */
  failed_on?: string;
  /** Why nobody reads it at the moment: no host serves the name, or no dispatcher runs on this machine. */
  held_up?: string;
  /** What is known of other hosts that serve the actor, such as `last heard from laptop 5 min ago`. */
  heard?: string;
  /** The plan that it has made of the message, which waits for a decision. */
  gate?: WebGate;
  /** What its run asks permission for, and waits. */
  permission?: { relPath: string; approver: string; tool: string; until: Time };
}

/** What a cancellation does; `late`: it came after the answer, which stays; `none`: its writer may not cancel that. */
export type WebForce = 'cancels' | 'late' | 'none';

/** A delivery that came to nothing. */
export interface WebFailed {
  actor: string;
  host: string;
  /** A code, such as `exit_code`. */
  reason: string;
  attempts: number;
  dead_letter: string;
  /** What happened, in one line. */
  detail: string;
}

/** A message of a thread, and its results. */
export interface WebThreadNode {
  relPath: string;
  from: string;
  to: string[];
  timestamp: Time;
  re: string[];
  cause: string[];
  /** The beginning of its text. */
  excerpt: string;
  /** What it is if it only looks like an answer: a word on the way to one, or the notice of a failure. */
  mark: 'interim' | 'failure' | 'cancel' | null;
  force?: WebForce;
  /** Whether it asks somebody to decide. */
  proposal?: boolean;
  /** What it says to a proposal, whether it counts or not. */
  decision?: 'approve' | 'deny';
  usage: WebUsage | null;
  /** The branch on which the run worked that wrote it. */
  branch?: BranchOnRecord;
  /** The subscription that has given it, as it says. */
  subscription?: string;
  /** The event on which it followed, as it says; absent for what followed on an answer. */
  event?: string;
  /** The skill for which it asks by beginning with `/name`; `path` is null where there is none of that name. */
  asks_for?: { name: string; path: string | null };
  /** The schedule that has sent it and when it was due, as the message says; anybody could write that. */
  fired_by?: { schedule: string; due: Time };
  /** Whether its writer has signed it; only where a key of that name is pinned on this machine. */
  verified?: boolean;
  states: WebState[];
  children: WebThreadNode[];
}

/** `GET /api/thread`, as `crosstalk thread --json`. */
export interface WebThread {
  channel: string;
  channel_name: string;
  /** The message that was asked for. */
  message: string;
  /** False when this is only a part of a very long thread. */
  complete: boolean;
  roots: WebThreadNode[];
}

/** A message that was found. */
export interface WebHit extends MessageRef {
  channel_name: string;
  score: number;
  from: string;
  /** Whether its writer has signed it; only where a key of that name is pinned on this machine. */
  verified?: boolean;
  to: string[];
  timestamp: Time;
  excerpt: string;
  /** The messages around it in its channel; `hit` is where it stands among them. */
  context: {
    relPath: string;
    from: string;
    verified?: boolean;
    excerpt: string;
    hit: boolean;
  }[];
}

/** `GET /api/search`, as `crosstalk search --json`. */
export interface WebSearch {
  hits: WebHit[];
  /** Further messages match after these. */
  more: boolean;
  /** No message has all the words; these have some of them. */
  some_words: boolean;
  /** More than were ranked match; the newest were ranked. */
  capped: boolean;
  /** False while the index is being built: older messages are not in it yet. */
  complete: boolean;
}

/** What the run of an answer used, where its agent CLI states that: tokens without those of the cache, US dollars, milliseconds. */
interface WebUsage {
  model?: string;
  input: number;
  cached: number;
  output: number;
  usd?: number;
  turns?: number;
  ms: number;
}

/** A message that came for somebody. */
export interface WebInboxItem extends MessageRef {
  channel_name: string;
  from: string;
  /** Whether its writer has signed it; only where a key of that name is pinned on this machine. */
  verified?: boolean;
  timestamp: Time;
  excerpt: string;
  options: string[];
  unread: boolean;
  /** Whether it asks something that was not answered yet. */
  waits_for_you: boolean;
  /** Whether it asks for a decision. */
  proposal: boolean;
  /** Why the work of which it tells failed; null for any other message. */
  failed: string | null;
}

/** `GET /api/inbox`: what asks something, then what came, unread first. */
export interface WebInbox {
  for: string;
  unread: number;
  questions: number;
  messages: WebInboxItem[];
  event_id: string;
}

/** What an actor proposes, and what says of it that it decides. */
export interface WebProposed {
  channel: string;
  relPath: string;
  /** The actor that proposes. */
  from: string;
  /** The alias of its host; null if it says none. */
  host: string | null;
  /** The name of who decides. */
  approver: string;
  /** All of it; characters that are not drawn are escaped, except line feeds and tabs. */
  body: string;
  /** The tool call that waits for permission, if it is about one. */
  permission: WebToolCall | null;
  /** What a decision is bound to. */
  digest: string;
  /** What says that it decides on it, and counts for nothing. */
  ignored: WebIgnored[];
}

/** A tool call that waits for permission. */
interface WebToolCall {
  tool: string;
  /** Its input as JSON text. */
  input: string;
  /** What it does, as far as its host can tell. */
  marks: string[];
}

/** A decision that counts for nothing, with the reason in words. */
interface WebIgnored {
  relPath: string;
  from: string;
  decision: Decision;
  why: string;
}

/** `GET /api/proposal`: what the reader is asked to decide. */
export interface WebProposal {
  /** Null where there is nothing to decide. */
  proposal: WebProposed | null;
  /** Why there is nothing to decide: it is decided, or somebody else decides. */
  why: string | null;
}

/** Body of `POST /api/decide`. */
export interface WebDecideRequest {
  /** The message that proposes it: relPath, `<channel>/<relPath>`, or its hex suffix if unique. */
  message: string;
  decision: Decision;
  /** Goes to the actor, or to whoever asked. */
  note?: string;
  /** The digest of what was shown; nothing else is decided on. */
  digest: string;
}

/** Answer of `POST /api/decide`, 202: the decision is safe on this machine's disk. */
export interface WebDecided {
  decision: Decision;
  channel: string;
  /** relPath of what was decided on, and of the message that decides. */
  proposal: string;
  relPath: string;
}
