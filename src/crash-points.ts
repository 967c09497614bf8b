/**
 * Every point between two effects of a delivery: a process that dies at any of them must lose
 * nothing and repeat nothing that was recorded (invariant 3). The code announces each as it passes
 * it; the crash suite (test/chaos) dies there.
 *
 * The argument, in the order a delivery passes them:
 *
 * 1. `fetched`, `scanned`: memory only. The cursor on disk is older, so the next start scans again.
 * 2. `cursors_saved`: a cursor never passes what is unsettled, and nothing was settled since.
 * 3. `cli_started`: a shell that waits for its go on stdin; our death is its end of input, and it
 *    ends without having run the command.
 * 4. `run_recorded`, `cli_ended`: no output is on record, so the run counts as never made. The
 *    next start ends what is left of it, takes over what it has dropped, and delivers again: at
 *    least once.
 * 5. `output_recorded`, `run_removed`: the outbox holds the final bytes. The next start takes the
 *    delivery as running until they are published, and never runs the CLI for it again.
 * 6. `commits_built`: commits nobody refers to; they are built again. `pushed`: the remote has
 *    them, the outbox still does too; the next publish finds their paths on the tip and pushes
 *    nothing twice.
 * 7. `settled`: the cursor is saved; the outbox entry is published once more, which finds it there.
 *    `letter_removed`, `outbox_removed`: done.
 *
 * A failure takes another way: `letter_written` before `letter_settled`. Until the letters are on
 * disk the run counts as never made; afterwards the start finds them and takes the delivery as
 * settled. Several letters of one batch are written one by one: those written are settled, the
 * messages without one are delivered again.
 *
 * `file_written` and `file_renamed` stand in every durable write: the temporary file is complete,
 * the new name is in place. What a dead process left under a temporary name is swept at the start.
 */
export const CRASH_POINTS = [
  'fetched',
  'scanned',
  'cursors_saved',
  'cli_started',
  'run_recorded',
  'cli_ended',
  'output_recorded',
  'run_removed',
  'commits_built',
  'pushed',
  'settled',
  'letter_removed',
  'outbox_removed',
  'letter_written',
  'letter_settled',
  'file_written',
  'file_renamed',
] as const;

export type CrashPoint = (typeof CRASH_POINTS)[number];

let onPassed: (point: CrashPoint) => void = () => undefined;

/** Announces that a point is passed. Costs a call of an empty function outside the crash suite. */
export function passed(point: CrashPoint): void {
  onPassed(point);
}

/** Calls back with every point this process passes: the crash suite's way in. */
export function onCrashPoint(listener: (point: CrashPoint) => void): void {
  onPassed = listener;
}
