import type { Time } from './now.ts';

/** A skill, as the newest commit has it. */
export interface WebSkill {
  name: string;
  /** Empty for one that cannot be read. */
  description: string;
  /** Path of its SKILL.md in the transport. */
  path: string;
  /** Whether it is the operators' own, and takes precedence over one of that name which came with Crosstalk. */
  replaces_upstream: boolean;
  /** Reason why it cannot be read; null for one that can. */
  problem: string | null;
  /** The actors that may use it, at most 50 of them; null if no profile restricts that, so that all may. */
  taken_by: string[] | null;
  /** Number of further actors that may use it. */
  taken_by_more: number;
}

/** `GET /api/skills`: the skills, by name. */
export interface WebSkills {
  skills: WebSkill[];
  /** Whether there are more than are listed. */
  more: boolean;
}

/** `GET /api/skills/{name}`: one skill with its text and the files beside it. */
export interface WebSkillWhole extends WebSkill {
  /** Markdown as it was written, never HTML; empty for one that cannot be read. */
  body: string;
  /** The files that a run receives in its directory, by their paths below the folder of the skill. */
  files: string[];
  /** The files that it does not receive, each with the reason. */
  left: string[];
}

/** A subscription, as `crosstalk subscription list --json` has it. */
export interface WebSubscription {
  name: string;
  path: string;
  /** `answer:<actor>` or `event:<name>`; null, like the following fields, when the file cannot be read. */
  source: string | null;
  to: string | null;
  channel: string | null;
  tier: string | null;
  match: string | null;
  /** The alias of the host on which it fires; null for the host of the event. */
  host: string | null;
  once: boolean;
  /** Whether it is recorded as fired, after which it never fires again; anybody who can push can record that. */
  fired: boolean;
  enabled: boolean;
  /** Errors in the file; with any of them it does not fire. */
  problems: string[];
}

/** `GET /api/subscriptions`: every subscription, by name. */
export interface WebSubscriptions {
  subscriptions: WebSubscription[];
  /** Number of files that were skipped because there are too many. */
  beyond: number;
}

/** A file of the operators that cannot be applied because of an error in it. */
export interface WebBrokenFile {
  kind: 'schedule' | 'subscription' | 'skill';
  name: string;
  path: string;
  problem: string;
}

/** `GET /api/broken-files`: the operators' files that cannot be applied. */
export interface WebBrokenFiles {
  /** At most 100 of `total`. */
  files: WebBrokenFile[];
  total: number;
}

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
  /** Next time it is due; null when it never is, is paused, or is run by another host. */
  next: Time | null;
  /** Last occurrence that this machine has handled; null for other hosts. */
  last: Time | null;
  outcome: 'sent' | 'missed' | 'unanswered' | 'refused' | null;
  /** The last message that was sent, as `<channel id>/<relPath>`. */
  sent: string | null;
  /** Errors because of which the file cannot be read; the last good one stays in force on its host. */
  problems: string[];
}

/** `GET /api/schedules`: every schedule, by name. */
export interface WebSchedules {
  schedules: WebSchedule[];
}
