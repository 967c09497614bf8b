import type { Time } from './now.ts';

/** A shared note, as `crosstalk memory list --json` prints it. */
export interface WebNote {
  /** File name in `data/memories/`, which identifies it. */
  file: string;
  from: string;
  /** Time when its text was written, as it claims. */
  timestamp: string;
  subject: string;
  /** `global`, the id of a channel, or `actor:<name>`. */
  scope: string;
  /** The name of that channel; null for the other scopes. */
  channel: string | null;
  alias: string[];
  name: string | null;
  kind: 'note' | 'decision' | 'preference' | 'reference' | 'archive';
  /** The first of the notes that it replaces. */
  supersedes: string | null;
  supersedes_also: string[];
  /** The note that replaces it; null if none does. */
  superseded_by: string | null;
  /** Kind of change that it makes; null if it was only added, or replaces others. */
  change: 'forget' | 'restore' | 'alias' | null;
  changed_by: string | null;
  /** Whether it is in the outbox of this machine. */
  queued: boolean;
  /** `forgets`: it only withdraws others. */
  state: 'in_force' | 'replaced' | 'forgotten' | 'forgets';
}

/** A note found by a search. */
export interface WebNoteHit extends WebNote {
  /** The part of its text that has the words; empty in a list. */
  excerpt: string;
}

/** A scope, and the number of its notes in any state. */
export interface WebNoteScope {
  scope: string;
  channel: string | null;
  notes: number;
}

/** `GET /api/memories`: a page of the requested notes. */
export interface WebNotes {
  memories: WebNoteHit[];
  /** Number of requested notes in all; of a search, only the best are counted. */
  total: number;
  /** Number of notes in each state, regardless of the request. */
  counts: { in_force: number; replaced: number; forgotten: number };
  /** The scopes that have notes, those with most notes first; at most 100. */
  scopes: WebNoteScope[];
  /** The first files that cannot be read as notes. */
  unreadable: { file: string; reason: string }[];
  unreadable_total: number;
}

/** A change of the notes, as `crosstalk memory log --json` prints it. */
export interface WebNoteChange extends WebNote {
  at: Time;
  by: string;
  what: 'added' | 'replaced' | 'forgot' | 'restored' | 'aliased';
  /** Whether another note of its name replaced it without naming it in `supersedes`. */
  same_name: boolean;
}

/** `GET /api/memory-log`: the changes of the notes and their authors, newest first. */
export interface WebNoteLog {
  changes: WebNoteChange[];
  /** Number of older changes that are left out. */
  more: number;
}

/** `GET /api/memories/{memory}`: one note with its text and its history. */
export interface WebNoteWhole extends WebNote {
  /** Markdown as it was written, never HTML. */
  body: string;
  /** The messages that it summarizes, as `<channel id>/<relPath>`. */
  covers: string[];
  /** The changes related to it, by replacement or by its name, newest first. */
  log: WebNoteChange[];
  log_more: number;
}
