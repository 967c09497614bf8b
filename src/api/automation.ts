import type { Time } from './now.ts';

/** A skill, as the newest commit has it. */
export interface WebSkill {
  name: string;
  /** Empty for one that cannot be read. */
  description: string;
  /** Where its SKILL.md is in the transport. */
  path: string;
  /** Whether it is the operators' own, and stands before one of that name which came with Crosstalk. */
  replaces_upstream: boolean;
  /** Why it cannot be read; null for one that can. */
  problem: string | null;
  /** The actors that take it, at most 50 of them; null where no profile narrows that, so that all do. */
  taken_by: string[] | null;
  /** How many more take it. */
  taken_by_more: number;
}

/** `GET /api/skills`: the skills, by name. */
export interface WebSkills {
  skills: WebSkill[];
  /** Whether there are more than are listed. */
  more: boolean;
}

/** `GET /api/skills/{name}`: one skill with its text and what stands beside it. */
export interface WebSkillWhole extends WebSkill {
  /** Markdown as it was written, never HTML; empty for one that cannot be read. */
  body: string;
  /** The files that a run gets in its directory, by their paths below the folder of the skill. */
  files: string[];
  /** What it does not get, each with the reason. */
  left: string[];
}

/** A subscription, as `crosstalk subscription list --json` has it. */
export interface WebSubscription {
  name: string;
  path: string;
  /** `answer:<actor>` or `event:<name>`; null, like what follows, when the file cannot be read. */
  source: string | null;
  to: string | null;
  channel: string | null;
  tier: string | null;
  match: string | null;
  /** The alias of the host that fires; null for the one on which it has happened. */
  host: string | null;
  once: boolean;
  /** Whether it is on record that it has fired, and never will again; also whoever can push can say so. */
  fired: boolean;
  enabled: boolean;
  /** What is wrong with the file; with these it does not fire. */
  problems: string[];
}

/** `GET /api/subscriptions`: every subscription, by name. */
export interface WebSubscriptions {
  subscriptions: WebSubscription[];
  /** How many files were passed over because there are too many. */
  beyond: number;
}

/** A file of the operators that cannot be followed as it stands. */
export interface WebBrokenFile {
  kind: 'schedule' | 'subscription' | 'skill';
  name: string;
  path: string;
  problem: string;
}

/** `GET /api/broken-files`: the operators' files that cannot be followed. */
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
