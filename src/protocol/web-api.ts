/**
 * What `crosstalk web` says to a browser: the answers of `/api/…` and the events of `/api/events`, as
 * JSON. Names are those of `--json`; times are ISO 8601 UTC; `…_s` are seconds. docs/openapi.json says
 * the same for others, with the paths.
 */

/** A message by its place: the channel's id, and the path inside it. */
export interface WebRef {
  channel: string;
  relPath: string;
}

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

export interface WebMessage extends WebRef {
  channel_name: string;
  from: string;
  to: string[];
  type: string;
  timestamp: string;
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
  last: string | null;
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
  /** Seconds from the message to its answer. */
  took_s: number | null;
}

export interface WebThreadNode {
  relPath: string;
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  cause: string[];
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

/** `GET /api/search`, as `crosstalk search --json`. */
export interface WebSearch {
  hits: (WebRef & {
    channel_name: string;
    score: number;
    from: string;
    to: string[];
    timestamp: string;
    excerpt: string;
    context: { relPath: string; from: string; excerpt: string; hit: boolean }[];
  })[];
  some_words: boolean;
  capped: boolean;
  complete: boolean;
}

export interface WebActor {
  name: string;
  description: string;
  hosts: { alias: string; tiers: string[] }[];
}

/** `GET /api/actors`: whom one can write to. */
export interface WebActors {
  actors: WebActor[];
}

export interface WebHost {
  alias: string;
  /** Whether it is the machine of this server, whose dispatcher's heartbeat can be read. */
  this_machine: boolean;
  /** Age of the heartbeat; null for other machines, and while no dispatcher runs here. */
  heartbeat_age_s: number | null;
  /** When one of its actors last wrote a message; null when none is among the recent ones. */
  last_wrote: string | null;
  actors: string[];
  /** What is wrong with its host file. */
  problem: string | null;
}

/** `GET /api/hosts`. */
export interface WebHosts {
  hosts: WebHost[];
}

/** A CLI at work, or one that has ended. */
export interface WebRun {
  /** The dispatch id; for runs known from the messages alone, that of the answer. */
  id: string;
  actor: string;
  host: string | null;
  channel: string;
  channel_name: string;
  tier: string | null;
  since: string;
  /** Null while it runs. */
  until: string | null;
  outcome: 'running' | 'answered' | 'silent' | 'failed' | 'parked';
  /** What it was run for. */
  messages: string[];
  /** What it wrote. */
  answers: string[];
  /** `observed`: this machine saw it begin; `record`: told from the messages, so it began after `since`. */
  known_from: 'observed' | 'record' | 'dead_letter';
}

/** A message that wakes an actor and has no answer yet. */
export interface WebWaiting extends WebRef {
  channel_name: string;
  from: string;
  actor: string;
  timestamp: string;
  age_s: number;
  state: 'waiting' | 'queued' | 'running' | 'failed' | 'parked';
  excerpt: string;
}

export interface WebDeadLetter {
  id: string;
  state: 'retrying' | 'quarantined' | 'parked';
  actor: string;
  channel: string;
  channel_name: string;
  messages: string[];
  reason: string;
  detail: string;
  attempts: number;
  last_failed_at: string;
  next_retry_at: string | null;
}

export interface WebOutboxEntry {
  id: string;
  age_s: number;
  messages: WebRef[];
}

/** The verdict: `problems` each say what is stuck and what to do. */
export interface WebHealth {
  ok: boolean;
  problems: string[];
}

/** What an actor is doing. */
export interface WebActorNow extends WebActor {
  running: WebRun[];
  waiting: number;
  last_wrote: string | null;
}

/** `GET /api/now`: the whole bus at a glance, as this machine knows it. */
export interface WebNow {
  at: string;
  tip: string;
  health: WebHealth;
  paused: { since: string; by: string } | null;
  /** Null while none runs on this machine. */
  dispatcher: {
    pid: number;
    version: string;
    started_at: string;
    age_s: number;
    interval: number;
    pending: number;
  } | null;
  hosts: WebHost[];
  actors: WebActorNow[];
  waiting: {
    total: number;
    oldest_s: number | null;
    /** How many have waited less than `under_s`, and not less than the one before; null: the rest. */
    ages: { under_s: number | null; messages: number }[];
    /** The oldest first, at most 100. */
    messages: WebWaiting[];
    /** False when messages older than the recent ones may wait too. */
    complete: boolean;
  };
  /** Tiers whose mail waits because `max_runs_per_hour` is used up. */
  parked: { actor: string; tier: string; reason: string; until: string }[];
  /** The newest first, at most 100 of `dead_letters_total`. */
  dead_letters: WebDeadLetter[];
  dead_letters_total: number;
  /** At most 100 of `outbox_total`. */
  outbox: WebOutboxEntry[];
  outbox_total: number;
  /** Null for a remote without a limit. */
  push_budget: {
    host: string;
    pushes_per_minute: number;
    used: number;
    next_at: string | null;
  } | null;
  malformed: { path: string; reason: string }[];
  malformed_total: number;
  event_id: string;
}

/** A message as an arrow of the picture. */
export interface WebArrow extends WebRef {
  from: string;
  to: string[];
  timestamp: string;
  re: string[];
  cause: string[];
  excerpt: string;
}

/** `GET /api/flow`: what happened between two times. */
export interface WebFlow {
  from: string;
  to: string;
  /** Who wrote, ran or was written to, those that hosts serve first. */
  lanes: { name: string; hosts: string[] }[];
  runs: WebRun[];
  messages: WebArrow[];
  /** Per hour, in order, hours without any left out: seconds from a message to its answer. */
  answer_times: { hour: string; answers: number; median_s: number; p90_s: number }[];
  /** Messages that waited for an answer at the end of each hour. */
  backlog: { hour: string; waiting: number }[];
  /** False when only the newest messages of the time are here. */
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

/** Answer of `POST /api/dead-letters/{id}/retry`. */
export interface WebRetried {
  released: string[];
  /** Whether a dispatcher was there to be woken. */
  woken: boolean;
}

/** Answer of `POST /api/wake`. */
export interface WebWoken {
  pid: number;
}

/** Any answer with a status of 400 or more. */
export interface WebError {
  error: {
    code:
      | 'usage'
      | 'not_found'
      | 'ambiguous'
      | 'invalid'
      | 'refused'
      | 'unauthorized'
      | 'forbidden'
      | 'too_large'
      | 'read_only'
      | 'internal';
    /** For people: what, where, the value seen; what to do next. */
    message: string;
  };
}

/** Something that became known of a message. */
export interface WebFact extends WebRef {
  at: string;
  state: 'queued' | 'sent' | 'taken' | 'answered' | 'silent' | 'failed' | 'parked';
  /** The addressee it is about; null for `queued` and `sent`. */
  actor: string | null;
  /** The run's id, the answer's relPath, the dead letter's id. */
  detail: string | null;
}

/**
 * The events of `GET /api/events`, by their `event:` name. All but `hello` are kept for those who come
 * back with `Last-Event-ID` (or `?last_event_id=`); each but `messages` and `facts` holds all there is to
 * say, so that a newer one replaces an older one.
 */
export interface WebEvents {
  /** The first of a stream; `resumed` when nothing was missed since the id that was given. */
  hello: { event_id: string; tip: string; resumed: boolean };
  /** What was missed is not known any more: load everything again. */
  reset: { reason: string };
  /** New on the bus, oldest first, of one channel. */
  messages: { tip: string; channel: string; channel_name: string; messages: WebMessage[] };
  /** The bus is at this commit, after its `messages`. */
  tip: { tip: string };
  outbox: { outbox: WebOutboxEntry[]; outbox_total: number };
  status: Pick<WebNow, 'health' | 'paused' | 'dispatcher' | 'parked' | 'push_budget'>;
  /** Those at work on this machine, and those that ended since the last such event. */
  runs: { running: WebRun[]; ended: WebRun[] };
  dead_letters: { dead_letters: WebDeadLetter[]; dead_letters_total: number };
  facts: { facts: WebFact[] };
}
