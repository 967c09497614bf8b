import type { MessageRef } from '../protocol/layout.ts';
import type { BranchOnRecord, Decision } from '../protocol/text/words.ts';
import type { WebDelay, WebGate, WebTaken, Time } from './now.ts';

/** `GET /api/session`: the content and permissions of this window. */
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
  /** Whether this window may retry, pause, and change schedules and channels. */
  may_operate: boolean;
  /** Whether this window may decide on the proposals of actors. */
  may_decide: boolean;
  /** Maximum size of a message in bytes. */
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
  /** Markdown as it was written, never HTML; only its beginning if `body_cut` is set. */
  body: string;
  body_cut: boolean;
  /** The answers that it offers, to be chosen by number, from 1. */
  options: string[];
  /** Whether the body is JSON that fits the schema of the question. */
  json?: boolean;
  /** The JSON Schema that an answer to it has to fit, as JSON text. */
  schema?: string;
  /** Whether it is in this machine's outbox and not on the bus yet. */
  queued: boolean;
  /** The attached files, in order. */
  files: WebFile[];
  /** Kind of a message that only looks like an answer: an interim message, or the notice of a failure. */
  mark?: 'interim' | 'failure' | 'cancel';
  force?: WebForce;
  /** Whether its writer signed it; only if a key of that name is pinned on this machine. */
  verified?: boolean;
  /** The branch of the run that wrote it, in the repository of its host; as it claims. */
  branch?: BranchOnRecord;
  /** Whether somebody has to decide on it. */
  proposal?: boolean;
  /** The decision that it states; whether it counts is another matter. */
  decision?: Decision;
  /** State of a question at each addressee; only on a page of a channel, if no answer is on that page. */
  states?: WebState[];
}

/** `GET /api/branch`: the changes of an answer's branch, if this machine has it. */
export interface WebBranchDiff extends BranchOnRecord {
  /** The folder of the repository, or of the copy of it, in which the branch was found. */
  place: string;
  /** The beginning of the patch; invisible characters are escaped, except line feeds and tabs. */
  patch: string;
  /** Whether the patch is longer. */
  cut: boolean;
}

/** An attached file; everything is as its sender claims. */
export interface WebFile {
  /** SHA-256 of its bytes, in hex. */
  sha256: string;
  /** Name given by its sender. */
  name: string;
  bytes: number;
  /** A media type, such as `image/png`. */
  type: string;
}

/**
 * `GET /api/message`: the body is never cut. `answered_by` are messages of any writer that name it in `re`.
 */
export interface WebMessageWhole extends WebMessage {
  answered_by: string[];
}

/** `GET /api/channels/{channel}/messages`: a part of a channel, oldest message first. */
export interface WebMessagePage {
  channel: string;
  channel_name: string;
  messages: WebMessage[];
  /** Number of messages of the channel on the bus. */
  total: number;
  /** Number of them that are older than the first one here: the position of this page in the channel. */
  first: number;
  /** Value for `?before=`; null at the beginning of the channel. */
  before: string | null;
  /** Value for `?after=`; null at the end of the channel. */
  after: string | null;
  /** Messages to the channel in this machine's outbox; only on the page at the end of the channel. */
  queued: WebMessage[];
  /** False while older messages are still being indexed: `total` and `first` grow. */
  complete: boolean;
  event_id: string;
}

/** A channel of the tree. */
export interface WebChannel {
  id: string;
  name: string;
  /** Id of its parent channel; null for a channel at the top. */
  parent: string | null;
  /** Its depth in the tree, which is 0 at the top; the list is in the order of the tree. */
  depth: number;
  description: string;
  messages: number;
  /** Time of its newest message. */
  last: Time | null;
  /** Number of messages to the name in `for` that it has not read on the machine of the server. */
  unread: number;
}

/** `GET /api/channels`. */
export interface WebChannels {
  for: string;
  channels: WebChannel[];
  event_id: string;
}

/** Progress of one addressee with a message that wakes it, as far as this machine knows. */
export interface WebState {
  actor: string;
  state:
    'answered' | 'queued' | 'running' | 'failed' | 'cancelled' | 'parked' | 'silent' | 'waiting';
  /** The host that runs it, the dead letter's id, or the relPath of the answer or of the cancellation. */
  detail: string | null;
  /** Seconds between the message and its answer. */
  took_s: number | null;
  /** Start of the run, or reason of the failure or the wait, with its end; null if nothing more is known. */
  delay: WebDelay | null;
  /** The other host that has the dead letter, if a notice of it says that it failed there. */
  failed_on?: string;
  /** Reason why nobody reads it at the moment: no host serves the name, or no dispatcher runs on this machine. */
  held_up?: string;
  /** Latest news of other hosts that serve the actor, such as `last heard from laptop 5 min ago`. */
  heard?: string;
  /** The host that has taken it, where of several hosts one takes it. */
  taken?: WebTaken;
  /** The plan that it made of the message, which waits for a decision. */
  gate?: WebGate;
  /** The tool call for which its run waits for permission. */
  permission?: { relPath: string; approver: string; tool: string; until: Time };
}

/** A claim on a message, as anybody who can push may have written it. */
export interface WebClaim {
  n: number;
  /** Null for a claim that cannot be read. */
  host: string | null;
  /** By the clock of the host. */
  at: Time | null;
  end: NonNullable<WebTaken['end']> | null;
  /** Whether a host file declares that this host serves the actor. */
  known: boolean;
  /** Reasons why it is not what a host writes. */
  faults: string[];
}

/** Effect of a cancellation; `late`: it came after the answer, which stays; `none`: its writer may not cancel that. */
export type WebForce = 'cancels' | 'late' | 'none';

/** A failed delivery. */
export interface WebFailed {
  actor: string;
  host: string;
  /** A code, such as `exit_code`. */
  reason: string;
  attempts: number;
  dead_letter: string;
  /** Description of the failure, in one line. */
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
  /** Kind of a message that only looks like an answer: an interim message, or the notice of a failure. */
  mark: 'interim' | 'failure' | 'cancel' | null;
  force?: WebForce;
  /** Whether it asks somebody to decide. */
  proposal?: boolean;
  /** Its decision on a proposal, whether it counts or not. */
  decision?: 'approve' | 'deny';
  usage: WebUsage | null;
  /** The branch of the run that wrote it. */
  branch?: BranchOnRecord;
  /** The subscription that sent it, as it claims. */
  subscription?: string;
  /** The event that caused it, as it claims; absent for one that an answer caused. */
  event?: string;
  /** The skill that it requests by beginning with `/name`; `path` is null if there is none of that name. */
  asks_for?: { name: string; path: string | null };
  /** The schedule that sent it and when it was due, as the message claims; anybody could write that. */
  fired_by?: { schedule: string; due: Time };
  /** Whether its writer signed it; only if a key of that name is pinned on this machine. */
  verified?: boolean;
  states: WebState[];
  children: WebThreadNode[];
}

/** `GET /api/thread`, as `crosstalk thread --json` prints it. */
export interface WebThread {
  channel: string;
  channel_name: string;
  /** The requested message. */
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
  /** Whether its writer signed it; only if a key of that name is pinned on this machine. */
  verified?: boolean;
  to: string[];
  timestamp: Time;
  excerpt: string;
  /** The messages around it in its channel; `hit` marks the message itself. */
  context: {
    relPath: string;
    from: string;
    verified?: boolean;
    excerpt: string;
    hit: boolean;
  }[];
}

/** `GET /api/search`, as `crosstalk search --json` prints it. */
export interface WebSearch {
  hits: WebHit[];
  /** Whether further messages match after these. */
  more: boolean;
  /** Whether no message has all the words, so that these have only some of them. */
  some_words: boolean;
  /** Whether more matched than were ranked; the newest were ranked. */
  capped: boolean;
  /** False while the index is being built: older messages are not in it yet. */
  complete: boolean;
}

/**
 * Usage of an answer's run, if its agent CLI states that: tokens without those of the cache, US dollars, milliseconds.
 */
interface WebUsage {
  model?: string;
  input: number;
  cached: number;
  output: number;
  usd?: number;
  turns?: number;
  ms: number;
}

/** A message in somebody's inbox. */
export interface WebInboxItem extends MessageRef {
  channel_name: string;
  from: string;
  /** Whether its writer signed it; only if a key of that name is pinned on this machine. */
  verified?: boolean;
  timestamp: Time;
  excerpt: string;
  options: string[];
  unread: boolean;
  /** Whether it asks a question that was not answered yet. */
  waits_for_you: boolean;
  /** Whether it asks for a decision. */
  proposal: boolean;
  /** The tool that it asks to use; null for any other message. */
  tool: string | null;
  /** Reason of the failure that it reports; null for any other message. */
  failed: string | null;
  /** Id of the dead letter of that failure, on the machine that failed. */
  dead_letter: string | null;
  /** The message with which its thread begins; null for that message itself. */
  question: (MessageRef & { from: string; excerpt: string }) | null;
}

/** Body of `POST /api/seen`: messages with which the sender of the session is done, each as `<channel>/<relPath>`. */
export interface WebSeenRequest {
  messages: string[];
}

/** `GET /api/inbox`: open questions, then other messages, unread first. */
export interface WebInbox {
  for: string;
  unread: number;
  questions: number;
  messages: WebInboxItem[];
  /** False while this machine has not counted all messages yet: there may be more. */
  complete: boolean;
  event_id: string;
}

/** A proposal of an actor, and the messages that claim to decide on it. */
export interface WebProposed {
  channel: string;
  relPath: string;
  /** The actor that made it. */
  from: string;
  /** The alias of its host; null if it says none. */
  host: string | null;
  /** Name of the person who decides. */
  approver: string;
  /** The whole text; invisible characters are escaped, except line feeds and tabs. */
  body: string;
  /** The tool call that waits for permission, if it is about one. */
  permission: WebToolCall | null;
  /** Digest to which a decision is bound. */
  digest: string;
  /** Messages that claim to decide on it, and count for nothing. */
  ignored: WebIgnored[];
}

/** A tool call that waits for permission. */
interface WebToolCall {
  tool: string;
  /** Its input as JSON text. */
  input: string;
  /** Its effects, as far as its host can tell. */
  marks: string[];
}

/** A decision that counts for nothing, with the reason in words. */
interface WebIgnored {
  relPath: string;
  from: string;
  decision: Decision;
  why: string;
}

/** `GET /api/proposal`: the proposal that the reader is asked to decide on. */
export interface WebProposal {
  /** Null if there is nothing to decide. */
  proposal: WebProposed | null;
  /** Reason why there is nothing to decide: it is decided, or somebody else decides. */
  why: string | null;
}

/** Body of `POST /api/decide`. */
export interface WebDecideRequest {
  /** The proposal: relPath, `<channel>/<relPath>`, or its hex suffix if unique. */
  message: string;
  decision: Decision;
  /** Sent to the actor, or to the one who asked. */
  note?: string;
  /** Digest of the displayed proposal; the decision applies to nothing else. */
  digest: string;
}

/** Answer of `POST /api/decide`, 202: the decision is safe on this machine's disk. */
export interface WebDecided {
  decision: Decision;
  channel: string;
  /** relPath of the proposal, and of the message that decides on it. */
  proposal: string;
  relPath: string;
}
