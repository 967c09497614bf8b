/** What must hold on the tip that a commit is built on; otherwise the commit is not made. */
export interface Requirement {
  path: string;
  /** The id of the file's content; null for no file at all. */
  oid: string | null;
}

/**
 * One commit to be: files added or replaced, under an author of its own (architecture, group commit).
 * What is handed over, waits in the outbox and is built on a tip is one and the same.
 */
export interface Commit {
  author: { name: string; email: string };
  /** ISO 8601 UTC; the date of the commit. */
  at: string;
  subject: string;
  files: { path: string; content: string }[];
  /** A folder that is emptied first, so that it is replaced as a whole. */
  clear?: string;
  /** These are checked at every attempt, on the tip that the attempt builds on. */
  requires?: readonly Requirement[];
}
