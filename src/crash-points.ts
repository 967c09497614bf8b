/**
 * Every point between two effects of a delivery: a process that dies at any of them must lose
 * nothing and repeat nothing that was recorded (invariant 3). The code announces each as it passes
 * it; the crash suite (test/chaos) dies there.
 *
 * Why this holds, in the order in which a delivery passes the points:
 *
 * 1. `fetched`, `scanned`: memory only. The cursor on disk is older, so the next start scans again.
 * 2. `cursors_saved`: a cursor never passes what is unsettled, and nothing was settled since.
 * 3. `cli_started`: a shell that waits on stdin for permission to start. When this process dies,
 *    the shell reads the end of its input and ends without having run the command.
 * 4. `run_recorded`, `cli_ended`: no output is on record, so the run counts as never made. The next
 *    start ends the processes left of the run, takes over the files in its drop folder, and delivers
 *    again: delivery is at least once.
 *    Where the CLI prints JSON, `raw_recorded` says that all of it is on disk; nothing is made of it
 *    before (`raw_read`). `ledger_written`: what the run used is on the bill, and stays there although
 *    the run is made again. A start that finds a run without such a line writes it from the raw output.
 * 5. `output_recorded`, `run_removed`: the outbox holds the final bytes. The next start treats the
 *    delivery as running until they are published, and never runs the CLI for it again.
 * 6. `commits_built`: no reference points to the commits, so they are built again. `pushed`: both
 *    the remote and the outbox have the messages; the next publish finds their paths at the tip and
 *    pushes nothing twice.
 * 7. `outbox_removed`: what it answers is on record as settled, in the same step. The cursor on disk is older,
 *    and the next start finds the record. `settled`: the cursor is saved.
 *
 * A delivery that fails passes `letter_written` and then `letter_settled`. Until the dead letters
 * are on disk the run counts as never made; afterwards the next start finds them and treats the
 * delivery as settled. Several letters of one batch are written one by one: messages with a letter
 * are settled, and messages without one are delivered again.
 *
 * A stalled delivery is reported to its askers. That a notice is due is recorded
 * with its letter. `notice_recorded`: the notice is in the outbox; its path is derived from the
 * letter, so the next start sees that it is there. `notice_removed`: it is only to be pushed.
 *
 * A message with files passes `files_kept` before its entry is in the outbox: side files without an
 * entry are swept a day later. At `files_in_git` git has their bytes, to which nothing refers yet; they
 * are written again. At `entry_with_files_removed` all is on the remote, and the side files are left
 * to the sweep. At `files_laid` the files of a batch are in the directory of a run that is not on record
 * yet; the next start removes the directory.
 *
 * A schedule that is due passes `schedule_queued` when its message is in the outbox, and
 * `schedule_recorded` when the machine remembers that. Before, the next start makes the same message
 * once more, under the same path, and it is published only if that path is free.
 *
 * Tasks that follow on an answer of another host pass `subscription_queued` when they are in the outbox, and
 * `subscription_recorded` when the machine remembers up to where it has looked. Before, the next start makes
 * the same tasks once more, and they are published only under free paths.
 *
 * A run in a copy of a repository passes `tree_recorded` (the record of the copy says that it is not ready),
 * `tree_cloned` (the copy is complete under a name that is used once), `tree_made` (it has its own name)
 * and `tree_prepared`. Until its record says that it is ready, it is made anew: a git that outlives the
 * process that started it writes where nobody looks. After the run, at `branch_packed` nothing is in
 * the original; at `branch_received` its objects are, which nothing names; at `branch_moved` the branch
 * is there, and at `branch_noted` the record of the copy says so. The run counts as never made until its
 * output is recorded, so the next one finds the copy as it was left, and brings the branch again.
 *
 * At `transcript_begun` and `transcript_written` nothing depends on the transcript: a transcript without
 * its last line is one that was cut off.
 *
 * A plan that waits for a decision passes `gate_written`: the gate holds the final bytes of the proposal,
 * and the run counts as made. `proposal_queued`: they are in the outbox; without the mark that says so they
 * are put there once more. `decision_written`: the decision counts, whatever becomes of its message.
 * `denial_queued`: the answer after a denial is in the outbox, as any other answer is from then on; the gate
 * that is left is removed.
 *
 * A run that resumes a session passes `session_under` when the record of the session names the run:
 * from then on no other run resumes that session. At `session_kept`, after the outcome of the run, the record
 * says which messages the session contains. Before, the next run of the thread starts a new session, which
 * receives the whole thread.
 *
 * A process that is kept between runs passes `warm_recorded` when it is on record, before it may start; a turn
 * in it is on record like any other run. `warm_waits`: its turn is on record, and it waits for the next. At
 * `warm_ended` it has ended, and its record has not been removed. Whatever is on record is ended by the next
 * start; its session was in memory, and the next run of the thread starts a new one.
 *
 * A message for a run under way passes `steering_recorded` when the record of the run names it, and
 * `steering_told` when the agent received it. Both are delivered again by the next start, in one run.
 *
 * `row_written` and `row_committed` are part of every step that is recorded in the database: first its
 * transaction is complete, then it is durable. Before, the next start finds nothing of the step.
 *
 * `file_written` and `file_renamed` are part of every durable write of a file: first the temporary file is
 * complete, then it has its new name. Temporary files that a dead process left are deleted at the
 * next start.
 */
export const CRASH_POINTS = [
  'fetched',
  'scanned',
  'cursors_saved',
  'cli_started',
  'run_recorded',
  'cli_ended',
  'raw_recorded',
  'raw_read',
  'ledger_written',
  'output_recorded',
  'run_removed',
  'commits_built',
  'pushed',
  'outbox_removed',
  'settled',
  'letter_written',
  'letter_settled',
  'notice_recorded',
  'notice_removed',
  'row_written',
  'row_committed',
  'file_written',
  'file_renamed',
  'files_kept',
  'files_in_git',
  'entry_with_files_removed',
  'files_laid',
  'schedule_queued',
  'schedule_recorded',
  'subscription_queued',
  'subscription_recorded',
  'tree_recorded',
  'tree_cloned',
  'tree_made',
  'tree_prepared',
  'branch_packed',
  'branch_received',
  'branch_moved',
  'branch_noted',
  'session_under',
  'session_kept',
  'warm_recorded',
  'warm_waits',
  'warm_ended',
  'steering_recorded',
  'steering_told',
  'transcript_begun',
  'transcript_written',
  'gate_written',
  'proposal_queued',
  'decision_written',
  'denial_queued',
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

let onPassed: (point: CrashPoint) => void = () => undefined;

/**
 * Announces that the process has passed a point. Outside the crash suite this calls an empty
 * function.
 */
export function passed(point: CrashPoint): void {
  onPassed(point);
}

/** Watches the points this process passes; for the crash suite. */
export function onCrashPoint(listener: (point: CrashPoint) => void): void {
  onPassed = listener;
}
