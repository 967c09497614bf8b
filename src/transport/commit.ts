/** One commit to be: files added or replaced, under an author of its own (architecture, group commit). */
export interface Commit {
  author: { name: string; email: string };
  at: Date;
  subject: string;
  files: { path: string; content: string }[];
  /** A folder emptied first, for replacing it as a whole. */
  clear?: string;
}

/** What git calls a ref's value when there is none. */
export const NO_COMMIT = '0'.repeat(40);
