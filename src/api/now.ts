import type { HostReport } from '../protocol/files/host-report.ts';
import type { MessageRef } from '../protocol/layout.ts';

/** An actor, and the hosts and tiers that serve it. */
export interface WebActor {
  name: string;
  description: string;
  /** `warm`: one of the tiers keeps its process, and receives further messages while it works. */
  hosts: { alias: string; tiers: string[]; warm?: boolean }[];
}

/** `GET /api/actors`: the actors one can write to. */
export interface WebActors {
  actors: WebActor[];
}

export interface WebHost {
  alias: string;
  /** Whether it is this server's machine, where the dispatcher's heartbeat can be read. */
  this_machine: boolean;
  /** Age of the heartbeat in seconds; null for other machines, and when no dispatcher runs here. */
  heartbeat_age_s: number | null;
  /** Time when one of its actors last wrote a message; null when none of the recent messages is theirs. */
  last_wrote: Time | null;
  /** Its last report on the bus; absent if there is none. */
  said?: HostReport;
  actors: string[];
  /** Error in its host file. */
  problem: string | null;
}

/** `GET /api/hosts`. */
export interface WebHosts {
  hosts: WebHost[];
}

/** A run of a CLI, active or ended. */
export interface WebRun {
  /** The dispatch id; for runs known only from messages, the id of the answer. */
  id: string;
  actor: string;
  host: string | null;
  channel: string;
  channel_name: string;
  tier: string | null;
  since: Time;
  /** Null while it runs. */
  until: Time | null;
  /** `stopped`: it was cut off or refused without an outcome, and its messages wait again. */
  outcome: 'running' | 'answered' | 'silent' | 'failed' | 'parked' | 'cancelled' | 'stopped';
  /** The messages for which it was started. */
  messages: string[];
  /** The messages it wrote. */
  answers: string[];
  /**
   * `observed`: this machine saw its start; `record`: concluded from the messages, so that it started at an
   * unknown time after `since`; `dead_letter`: only its failure, at `since`, is known.
   */
  known_from: 'observed' | 'record' | 'dead_letter';
}

/** The host that has taken a message, where of several hosts one takes it. */
export interface WebTaken {
  /** Its alias; empty if its claim cannot be read. */
  host: string;
  /** Time of the claim by the clock of that host; null if it is unknown. */
  at: Time | null;
  /** Whether nothing runs there, as it waits for others. */
  waits?: boolean;
  /** Ending of the claim; after `released` any host may take the message. */
  end?: 'answered' | 'silent' | 'failed' | 'cancelled' | 'held' | 'released';
  /** Time before which nobody takes it again. */
  not_before?: Time;
}

/** A message that wakes an actor and has no answer yet. */
export interface WebWaiting extends MessageRef {
  channel_name: string;
  from: string;
  actor: string;
  timestamp: Time;
  /** Seconds since it was written. */
  age_s: number;
  /**
   * `held`: the actor could run, but may not at the moment; `failing`: it is retried automatically; `failed`: it was
   * given up; `parked`: its thread is too deep. The mail of other machines is `waiting` whatever they do with it.
   */
  state: 'waiting' | 'held' | 'running' | 'failing' | 'failed' | 'parked';
  delay: WebDelay | null;
  taken?: WebTaken;
  gate?: WebGate;
  /** The tool call for which its run waits for permission. */
  permission?: { relPath: string; approver: string; tool: string; until: Time };
  excerpt: string;
}

export interface WebDeadLetter {
  id: string;
  state: 'retrying' | 'quarantined' | 'parked' | 'cancelled';
  actor: string;
  channel: string;
  channel_name: string;
  messages: string[];
  reason: string;
  detail: string;
  /** All attempts so far. */
  attempts: number;
  attempts_since_release: number;
  /** Number of attempts since a release after which it is given up; null if unknown. */
  attempts_allowed: number | null;
  last_failed_at: Time;
  next_retry_at: Time | null;
}

export interface WebOutboxEntry {
  id: string;
  age_s: number;
  messages: MessageRef[];
}

/** The verdict: `problems` each name something that is stuck, and what to do. */
interface WebHealth {
  ok: boolean;
  problems: string[];
}

/** A problem of the verdict, and whether somebody has to act on it. */
export interface WebFinding {
  /** The problem as the verdict names it. */
  problem: string;
  /** `wait`: it ends without anybody's action; `act`: somebody has to do something. */
  kind: 'act' | 'wait';
  /** The command that solves it, or shows more; null if there is none. */
  command: string | null;
}

/** Numbers of messages without an answer. */
interface WebByState {
  waiting: number;
  held: number;
  running: number;
  failing: number;
  failed: number;
  parked: number;
}

/** An MCP server of an actor of this machine. */
export interface WebTool {
  name: string;
  /** `held`: it waits for `crosstalk host approve`, as a new one or as the replacement of one in force. */
  state: 'approved' | 'held';
  /** Secrets that it needs and that are missing on this machine. */
  missing: string[];
}

/** Current activity of an actor. */
export interface WebActorNow extends WebActor {
  /** Its MCP servers, as far as this machine serves it. */
  tools: WebTool[];
  running: WebRun[];
  /** Number of messages without an answer, in any state. */
  waiting: number;
  /** The same number by state. */
  by_state: WebByState;
  last_wrote: Time | null;
}

/** `GET /api/now`: the whole bus at a glance, as this machine knows it. */
export interface WebNow {
  at: Time;
  tip: string;
  health: WebHealth;
  findings: WebFinding[];
  paused: { since: Time; by: string } | null;
  /** Null when no dispatcher runs on this machine. */
  dispatcher: {
    pid: number;
    version: string;
    started_at: Time;
    age_s: number;
    interval: number;
    pending: number;
  } | null;
  hosts: WebHost[];
  /** The other machines, if a bell reports them. */
  machines?: WebMachine[];
  actors: WebActorNow[];
  /** The people who wrote recently. */
  people: string[];
  waiting: {
    total: number;
    oldest_s: number | null;
    /**
     * Numbers of messages that have waited less than `under_s`, but at least as long as the previous entry's
     * `under_s`; null stands for all others.
     */
    ages: { under_s: number | null; messages: number }[];
    /** At most 100, the oldest first. */
    messages: WebWaiting[];
    /** False when messages older than the recent ones may wait too. */
    complete: boolean;
  };
  /**
   * Tiers whose messages wait because a limit or a budget is used up, or their CLI refuses to work; for a
   * budget, `said` names it and the part of it that is spent. `instead` is the tier that handles the mail in
   * the meantime, if there is one.
   */
  parked: {
    actor: string;
    tier: string;
    reason: string;
    until: Time;
    said?: string;
    instead?: string;
  }[];
  /** At most 100 of `dead_letters_total`, the newest first. */
  dead_letters: WebDeadLetter[];
  dead_letters_total: number;
  /** At most 100 of `outbox_total`. */
  outbox: WebOutboxEntry[];
  outbox_total: number;
  /** Null when the remote has no limit. */
  push_budget: {
    host: string;
    pushes_per_minute: number;
    used: number;
    next_at: Time | null;
  } | null;
  malformed: { path: string; reason: string }[];
  malformed_total: number;
  event_id: string;
}

/** A message as an arrow in the timeline. */
export interface WebArrow extends MessageRef {
  from: string;
  to: string[];
  timestamp: Time;
  re: string[];
  cause: string[];
  excerpt: string;
  /** The schedule that sent it, as it claims; absent for any other. */
  schedule?: string;
  /** The subscription that sent it, as it claims; absent for any other. */
  subscription?: string;
}

/** `GET /api/flow`: the activity between two times. */
export interface WebFlow {
  from: Time;
  to: Time;
  /** The names that wrote, ran or were addressed; those that hosts serve come first. */
  lanes: { name: string; hosts: string[] }[];
  runs: WebRun[];
  messages: WebArrow[];
  /** Per hour, in order and without gaps: the seconds between a message and its answer. */
  answer_times: { hour: Time; answers: number; median_s: number; p90_s: number }[];
  /** Messages that waited for an answer at the end of each hour. */
  backlog: { hour: Time; waiting: number }[];
  /** False when only the newest messages of the period are included. */
  complete: boolean;
}

/** Another machine, as the bell reports it; anybody who reaches the bell may send that in its name. */
export interface WebMachine {
  alias: string;
  /** Whether it was heard as recently as a working machine is. */
  live: boolean;
  /** Seconds since it was heard; null when it never was. */
  heard_s: number | null;
  version: string | null;
  /** The actors that are working there, one entry for each run. */
  running: string[];
  /** Number of tiers there that hold their mail back. */
  held: number;
}

/** A host of the transport, as it describes itself. */
export interface WebHostWord {
  alias: string;
  this_machine: boolean;
  /** Seconds since its last message of any kind; null when none of the recent ones is its. */
  heard_s: number | null;
  /** Seconds since its last report; null when there is none. */
  said_s: number | null;
  said: HostReport | null;
}

/** Details of an active run, or of mail that continues later. */
export interface WebDelay {
  /** Time when the run started, the last attempt failed, or the mail was first held; null if unknown. */
  since: Time | null;
  /** Time when it continues, or is retried, without anybody's action; null if it needs an action, and for a run. */
  until: Time | null;
  /**
   * Reason why it is held or failed: `paused`, `max_runs_per_hour`, `rate_limited`, `out_of_credit`,
   * `not_logged_in`, or the reason of its dead letter; null for a run.
   */
  reason: string | null;
  /** Output of the agent CLI about it, in one line. */
  said: string | null;
  /** The attempts that failed since an operator last released it; null unless it failed. */
  attempts: number | null;
  /** Number of attempts after which it is given up; null if unknown. */
  attempts_allowed: number | null;
}

/**
 * A moment, ISO 8601 in UTC.
 * @format date-time
 */
export type Time = string;

/** One piece of output, or one step, of a run of this machine. */
export interface WebRunLine {
  /** Counted from 1; a number that is missing here is missing in the transcript too. */
  n: number;
  at: Time;
  /**
   * `out`, `err`: a piece of its command's stdout and stderr. For CLIs that print JSON, `says`: text of the
   * model; `tool`: a tool call, in one line; `used`: its usage so far; `fails`: the reason of a failure.
   * `gap`: something is left out here. `end`: the end of the run.
   */
  kind: 'out' | 'err' | 'says' | 'fails' | 'tool' | 'used' | 'gap' | 'end';
  /** Without control sequences. */
  text?: string;
  /** Tokens, and US dollars where the CLI states them. */
  usage?: { input: number; cached: number; output: number; usd?: number };
  /** Number of bytes that are left out, if that is known. */
  bytes?: number;
  ended?: string;
  /** The code of a failure. */
  reason?: string;
}

/** `GET /api/runs/{id}/output`: the output of a run of this machine. */
export interface WebRunOutput {
  id: string;
  /** Whether the run is still active. */
  running: boolean;
  lines: WebRunLine[];
  /** Number of the last line; as `after`, it requests the lines after it. */
  last: number;
}

/** A name that was written to and that nobody serves. */
export interface WebUnserved {
  name: string;
  /**
   * Number of messages of the last days to it that nobody has reacted to; a thousand stands for any number from
   * there on.
   */
  messages: number;
  /** The newest of them, and the oldest that was counted. */
  newest: string;
  oldest: string;
  /** The name that the sender may have meant, as the end of a sentence; empty if no name is near. */
  hint: string;
}

/** A plan that waits for a decision, or, approved, for its run. */
export interface WebGate {
  /** Name of the person who decides. */
  approver: string;
  /** The relPath of the message with the plan. */
  proposal: string;
  approved: boolean;
}
