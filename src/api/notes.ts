import type { Time } from './now.ts';

/** A shared note, as `crosstalk memory list --json` has it. */
export interface WebNote {
  /** Its file name in `data/memories/`, by which it is named. */
  file: string;
  from: string;
  /** When its text was written, as it says. */
  timestamp: string;
  subject: string;
  /** `global`, the id of a channel, or `actor:<name>`. */
  scope: string;
  /** The name of that channel; null for the other scopes. */
  channel: string | null;
  alias: string[];
  name: string | null;
  kind: 'note' | 'decision' | 'preference' | 'reference' | 'archive';
  /** The first of those that it replaces. */
  supersedes: string | null;
  supersedes_also: string[];
  /** The one that replaces it; null while nothing does. */
  superseded_by: string | null;
  /** What was done by writing it; null where it was only added, or replaces others. */
  change: 'forget' | 'restore' | 'alias' | null;
  changed_by: string | null;
  /** Whether it waits in the outbox of this machine. */
  queued: boolean;
  /** `forgets`: it only ends others. */
  state: 'in_force' | 'replaced' | 'forgotten' | 'forgets';
}

/** A note that was found by its words. */
export interface WebNoteHit extends WebNote {
  /** The part of its text that has the words; empty in a list. */
  excerpt: string;
}

/** A scope, and how many notes there are in it, in whatever state. */
export interface WebNoteScope {
  scope: string;
  channel: string | null;
  notes: number;
}

/** `GET /api/memories`: a part of the notes that are asked for. */
export interface WebNotes {
  memories: WebNoteHit[];
  /** How many are asked for in all; of what is searched for, only the best are counted. */
  total: number;
  /** How many notes there are in each state, whatever is asked for. */
  counts: { in_force: number; replaced: number; forgotten: number };
  /** The scopes that have notes, those with most notes first; at most 100. */
  scopes: WebNoteScope[];
  /** The first files that cannot be read as notes. */
  unreadable: { file: string; reason: string }[];
  unreadable_total: number;
}

/** A change of the notes, as `crosstalk memory log --json` has it. */
export interface WebNoteChange extends WebNote {
  at: Time;
  by: string;
  what: 'added' | 'replaced' | 'forgot' | 'restored' | 'aliased';
  /** Whether it gave way to another of its name that does not supersede it. */
  same_name: boolean;
}

/** `GET /api/memory-log`: who changed the notes, newest first. */
export interface WebNoteLog {
  changes: WebNoteChange[];
  /** How many older ones are left out. */
  more: number;
}

/** `GET /api/memories/{memory}`: one note with its text, and what was done with it. */
export interface WebNoteWhole extends WebNote {
  /** Markdown as it was written, never HTML. */
  body: string;
  /** The messages that it sums up, as `<channel id>/<relPath>`. */
  covers: string[];
  /** The changes that are connected with it, by replacing or by its name, newest first. */
  log: WebNoteChange[];
  log_more: number;
}
