export type Level = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, unknown>;

/** Writes one event; the receiver adds the time. */
export type Log = (event: EventName, fields?: LogFields) => void;

/** Events of the log by name, with their levels; docs/reference.md lists them. */
const EVENTS = {
  /** This machine’s dispatcher serves from now on. */
  dispatcher_started: 'info',
  /** It was asked to stop; running CLIs have until their grace is over. */
  dispatcher_stopping: 'info',
  /** It has ended in order. */
  dispatcher_stopped: 'info',
  /** It has ended so that the service starts another version. */
  dispatcher_replaced: 'info',
  /** Another version is installed but cannot start; this one goes on. */
  replacement_failed: 'warn',
  /** The transport needs another version of Crosstalk: nothing is started or pushed. */
  version_refused: 'warn',
  /** The version of the transport is right again. */
  version_accepted: 'info',
  /** No host file names this machine. */
  host_file_missing: 'warn',
  /** A new form of the host file is in force. */
  host_file_loaded: 'info',
  /** The host file cannot be read; the last readable one stays in force. */
  host_file_invalid: 'warn',
  /** The host file has a key that means nothing, such as a misspelt one. */
  host_file_unknown_key: 'warn',
  /** The profile of an actor cannot be read; the last readable one stays in force. */
  profile_invalid: 'warn',
  /** The prompt of a run has the text of a skill. */
  skill_told: 'info',
  /** A message asks for a skill that is not there, cannot be read, or is not for this actor. */
  skill_missing: 'warn',
  /** A run goes without a tool server that its profile names. */
  mcp_left_out: 'warn',
  /** The CLI has lost a session; the run is begun anew at once. */
  session_refused: 'info',
  /** The process that was kept for a session has ended, with the reason. */
  session_ended: 'info',
  /** A change of what this machine runs waits for `crosstalk host approve`. */
  host_change_held: 'warn',
  /** The remote could not be fetched from; logged once until it works again. */
  fetch_failed: 'warn',
  /** Objects that the clone lacked were fetched again. */
  clone_mended: 'warn',
  /** The remote shows an older state than before, as a mirror that lags does. */
  remote_behind: 'warn',
  /** One pass of the dispatcher. */
  tick: 'debug',
  /** A file in the place of a message cannot be read as one. */
  message_malformed: 'warn',
  /** A message was edited or removed; it is not delivered again. */
  message_changed: 'warn',
  /** A message for an actor of this machine names another host. */
  route_skipped: 'info',
  /** This host has taken a message that one of several hosts takes. */
  claimed: 'info',
  /** Another host has it instead, or the lease was not renewed; a run for it is ended. */
  claim_lost: 'info',
  /** A run begins. */
  dispatch_start: 'info',
  /** A run has ended well. */
  dispatch_done: 'info',
  /** A run has ended well and printed nothing. */
  dispatch_silent: 'info',
  /** A run was ended because this machine no longer serves its actor. */
  dispatch_ended: 'warn',
  /** An attempt has failed, with the reason. */
  dispatch_failed: 'warn',
  /** A delivery waits until the content of a message is there. */
  dispatch_held: 'warn',
  /** The outcome of a run could not be recorded yet; it is kept in memory and tried again. */
  record_failed: 'error',
  /** The outcome of a run is in a file until the next start. */
  outcome_kept: 'warn',
  /** The start has found such a file, and recorded it. */
  outcome_found: 'info',
  /** Something in the outbox cannot be published as it is, and waits for a person. */
  set_aside: 'error',
  /** Something looks like a secret, and is not pushed. */
  secret_held: 'warn',
  /** Another machine, or a copy of this one, writes under this alias. */
  alias_shared: 'error',
  /** An answer is in the outbox. */
  reply_queued: 'info',
  /** The outbox was pushed. */
  push_done: 'info',
  /** It could not be pushed; it stays in the outbox. */
  push_failed: 'warn',
  /** An attempt at a delivery has failed and waits to be tried again. */
  dead_letter: 'warn',
  /** A delivery has failed for good. */
  quarantined: 'error',
  /** The people and actors that wait for an answer were told that there is none. */
  failure_told: 'info',
  /** A message was taken back, and what ran for it has ended. */
  cancelled: 'info',
  /** A cancellation does not count, with the reason. */
  cancel_ignored: 'info',
  /** A run was told what its asker has said since. */
  steered: 'info',
  /** Words for a run came after its end, and are delivered as the next message. */
  steering_late: 'info',
  /** Words for a run are delivered as an ordinary message, with the reason. */
  steering_ignored: 'info',
  /** A plan waits for a decision. */
  gated: 'info',
  /** A person has decided on a plan. */
  decided: 'info',
  /** A decision does not count, with the reason. */
  decision_ignored: 'warn',
  /** A plan no longer waits, with the reason. */
  gate_removed: 'info',
  /** A plan that was changed or removed on the bus was written once more. */
  proposed_again: 'info',
  /** Mail waits in its mailbox or was stopped by a guard, with the reason. */
  parked: 'warn',
  /** An actor runs on another tier for now. */
  fallback: 'warn',
  /** The first answer of peers waits for those of the others. */
  joining: 'info',
  /** The history has no longer what this machine had read. */
  cursor_lost: 'warn',
  /** Settings of agent CLIs were removed from a workspace before a run. */
  workspace_cleaned: 'warn',
  /** Workspaces that no thread uses any more were removed. */
  workspaces_removed: 'info',
  /** A thread got its copy of a repository. */
  worktree_made: 'info',
  /** Copies from which nothing would be lost were removed. */
  worktrees_removed: 'info',
  /** The branch of a thread could not be brought into the repository, with the reason. */
  branch_held: 'warn',
  /** The sandbox has refused an address to a run. */
  sandbox_refused: 'warn',
  /** A repository is not where it was before a run; the next ones wait until it is back. */
  repository_moved: 'warn',
  /** A run has made a repository, whose settings git would obey. */
  repository_new: 'warn',
  /** A file that a run left to be sent was refused. */
  drop_refused: 'warn',
  /** A run waits for a person’s permission. */
  permission_asked: 'info',
  /** The person has answered. */
  permission_answered: 'info',
  /** A question for permission was denied without asking, with the reason. */
  permission_denied: 'warn',
  /** Processes that had left the group of their run were ended. */
  processes_ended: 'info',
  /** Another machine has archived the history. */
  epoch_begun: 'info',
  /** The objects of the clone were packed. */
  maintained: 'info',
  /** The branch has a file that does not belong to a transport; no checkout shows it. */
  foreign_path: 'warn',
  /** A schedule is in force, with the time at which it is due next. */
  schedule_loaded: 'info',
  /** A schedule cannot be read; its last good form stays in force. */
  schedule_invalid: 'warn',
  /** An occurrence of a schedule was dealt with: sent, or left out. */
  schedule_due: 'info',
  /** A subscription has given a task. */
  subscription_fired: 'info',
  /** A subscription cannot be read; it does not fire. */
  subscription_invalid: 'warn',
  /** A schedule cannot send, with the reason. */
  schedule_failed: 'warn',
  /** A schedule was dealt with for a time that lies ahead by now. */
  clock_set_back: 'warn',
  /** A command or a webhook has asked for a look at the mail. */
  woken: 'info',
  /** The bell between machines can be heard. */
  bell_up: 'info',
  /** It has rung for this machine. */
  bell_rung: 'debug',
  /** It can be heard no more; mail comes by the poll. */
  bell_down: 'warn',
  /** It is not listened to for a while, as too much is said there. */
  bell_flooded: 'warn',
  /** A fault of this program; the rest goes on. */
  internal_error: 'error',
} satisfies Record<string, Level>;

export type EventName = keyof typeof EVENTS;

export function levelOf(event: EventName): Level {
  return EVENTS[event];
}
