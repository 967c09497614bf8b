/** What must hold on the tip that a commit is built on; otherwise the commit is not made. */
export interface Requirement {
  path: string;
  /** The id of the file's content; null for no file at all. */
  oid: string | null;
}

/** One commit to be: files added or replaced, under an author of its own (architecture, group commit). */
export interface Commit {
  author: { name: string; email: string };
  at: Date;
  subject: string;
  files: { path: string; content: string }[];
  /** A folder that is emptied first, so that it is replaced as a whole. */
  clear?: string;
  /** These are checked at every attempt, on the tip that the attempt builds on. */
  requires?: readonly Requirement[];
}

/** What git calls a ref's value when there is none. */
export const NO_COMMIT = '0'.repeat(40);
