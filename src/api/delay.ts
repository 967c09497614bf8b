import type { Time } from './time.ts';

/** What is known of a run that is at work, or of mail that goes on later, beyond its state. */
export interface WebDelay {
  /** When the run began, the last attempt failed, or the mail began to be held; null if unknown. */
  since: Time | null;
  /**
   * When it goes on, or is tried again, without anybody's action; null where it needs an action,
   * and for a run.
   */
  until: Time | null;
  /**
   * Why it is held or failed: `paused`, `max_runs_per_hour`, `rate_limited`, `out_of_credit`, `not_logged_in`, or the
   * reason of its dead letter; null for a run.
   */
  reason: string | null;
  /** What the agent CLI said, in one line. */
  said: string | null;
  /** The attempts that failed since an operator last released it; null unless it failed. */
  attempts: number | null;
  /** After how many attempts it is given up; null if unknown. */
  attempts_allowed: number | null;
}
