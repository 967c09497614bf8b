/** A condition on the tip on which a commit is built; if it does not hold, the commit is not made. */
export interface Requirement {
  path: string;
  /** The id of the file's content; null if the file must not exist. */
  oid: string | null;
}

/** A file of any bytes, such as an attached one: they are kept elsewhere until they are in git. */
export interface Blob {
  path: string;
  /** Of its bytes. */
  sha256: string;
  bytes: number;
  /** The outbox entry beside which its bytes are kept. */
  kept?: string;
  /** Its name in git, once git has it. */
  oid?: string;
  /** Whether compression would make it no smaller, as that of a picture; known once git has it. */
  dense?: boolean;
}

/**
 * A commit to be made: added or replaced files with their own author (architecture, group commit).
 * The same form is passed on, waits in the outbox and is built on a tip.
 */
export interface Commit {
  author: { name: string; email: string };
  /** The date of the commit, as ISO 8601 in UTC. */
  at: string;
  subject: string;
  files: { path: string; content: string }[];
  blobs?: readonly Blob[];
  /** A folder that is emptied first, so that its content is replaced completely. */
  clear?: string;
  /** Checked at every attempt, on the tip on which the attempt builds. */
  requires?: readonly Requirement[];
  /** If a requirement does not hold, it is left out, and what it was to be published with is not. */
  optional?: true;
}
