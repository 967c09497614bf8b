import type { Time } from './time.ts';

/** A schedule, as the newest commit has it. */
export interface WebSchedule {
  name: string;
  path: string;
  /** Null for a file that cannot be read. */
  host: string | null;
  to: string | null;
  channel: string | null;
  /** `cron`, `every` or `at`, with its value. */
  when: string | null;
  timezone: string | null;
  enabled: boolean;
  /** When it is due next; null when it never is, is paused, or goes by the clock of another host. */
  next: Time | null;
  /** The last occurrence that this machine has dealt with; null for other hosts. */
  last: Time | null;
  outcome: 'sent' | 'missed' | 'unanswered' | 'refused' | null;
  /** The last message that was sent, as `<channel id>/<relPath>`. */
  sent: string | null;
  /** Why the file cannot be read; the last good one stays in force on its host. */
  problems: string[];
}

/** `GET /api/schedules`: every schedule, by name. */
export interface WebSchedules {
  schedules: WebSchedule[];
}
