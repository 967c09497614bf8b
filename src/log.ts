/** The events of the log (cli.md, "Log events"). */
export type EventName =
  | 'dispatcher_started'
  | 'dispatcher_stopping'
  | 'dispatcher_stopped'
  | 'dispatcher_replaced'
  | 'replacement_failed'
  | 'version_refused'
  | 'version_accepted'
  | 'host_file_missing'
  | 'host_file_loaded'
  | 'host_file_invalid'
  | 'host_file_unknown_key'
  | 'profile_invalid'
  | 'skill_told'
  | 'skill_missing'
  | 'mcp_left_out'
  | 'session_refused'
  | 'session_ended'
  | 'host_change_held'
  | 'fetch_failed'
  | 'clone_mended'
  | 'remote_behind'
  | 'tick'
  | 'message_malformed'
  | 'message_changed'
  | 'route_skipped'
  | 'claimed'
  | 'claim_lost'
  | 'dispatch_start'
  | 'dispatch_done'
  | 'dispatch_silent'
  | 'dispatch_ended'
  | 'dispatch_failed'
  | 'dispatch_held'
  | 'record_failed'
  | 'outcome_kept'
  | 'outcome_found'
  | 'set_aside'
  | 'secret_held'
  | 'alias_shared'
  | 'reply_queued'
  | 'push_done'
  | 'push_failed'
  | 'dead_letter'
  | 'quarantined'
  | 'failure_told'
  | 'cancelled'
  | 'cancel_ignored'
  | 'steered'
  | 'steering_late'
  | 'steering_ignored'
  | 'gated'
  | 'decided'
  | 'decision_ignored'
  | 'gate_removed'
  | 'proposed_again'
  | 'parked'
  | 'fallback'
  | 'joining'
  | 'cursor_lost'
  | 'workspace_cleaned'
  | 'workspaces_removed'
  | 'worktree_made'
  | 'worktrees_removed'
  | 'branch_held'
  | 'sandbox_refused'
  | 'repository_moved'
  | 'repository_new'
  | 'drop_refused'
  | 'permission_asked'
  | 'permission_answered'
  | 'permission_denied'
  | 'processes_ended'
  | 'epoch_begun'
  | 'maintained'
  | 'foreign_path'
  | 'schedule_loaded'
  | 'schedule_invalid'
  | 'schedule_due'
  | 'subscription_fired'
  | 'subscription_invalid'
  | 'schedule_failed'
  | 'clock_set_back'
  | 'woken'
  | 'bell_up'
  | 'bell_rung'
  | 'bell_down'
  | 'bell_flooded'
  | 'internal_error';

export type Level = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, unknown>;

/** Writes one event; the receiver adds the time. */
export type Log = (event: EventName, fields?: LogFields) => void;

const LEVELS: Partial<Record<EventName, Level>> = {
  tick: 'debug',
  bell_rung: 'debug',
  version_refused: 'warn',
  host_file_missing: 'warn',
  replacement_failed: 'warn',
  host_file_invalid: 'warn',
  host_file_unknown_key: 'warn',
  profile_invalid: 'warn',
  skill_missing: 'warn',
  mcp_left_out: 'warn',
  host_change_held: 'warn',
  fetch_failed: 'warn',
  clone_mended: 'warn',
  remote_behind: 'warn',
  message_malformed: 'warn',
  message_changed: 'warn',
  foreign_path: 'warn',
  dispatch_ended: 'warn',
  dispatch_failed: 'warn',
  dispatch_held: 'warn',
  record_failed: 'error',
  outcome_kept: 'warn',
  set_aside: 'error',
  secret_held: 'warn',
  alias_shared: 'error',
  push_failed: 'warn',
  dead_letter: 'warn',
  quarantined: 'error',
  parked: 'warn',
  decision_ignored: 'warn',
  fallback: 'warn',
  cursor_lost: 'warn',
  workspace_cleaned: 'warn',
  branch_held: 'warn',
  sandbox_refused: 'warn',
  repository_moved: 'warn',
  repository_new: 'warn',
  drop_refused: 'warn',
  permission_denied: 'warn',
  subscription_invalid: 'warn',
  schedule_invalid: 'warn',
  schedule_failed: 'warn',
  clock_set_back: 'warn',
  bell_down: 'warn',
  bell_flooded: 'warn',
  internal_error: 'error',
};

export function levelOf(event: EventName): Level {
  return LEVELS[event] ?? 'info';
}
