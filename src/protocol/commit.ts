/** A condition on the tip on which a commit is built; if it does not hold, the commit is not made. */
export interface Requirement {
  path: string;
  /** The id of the file's content; null if the file must not exist. */
  oid: string | null;
}

/** A file of any bytes, such as an attached one: its bytes are stored elsewhere until they are in git. */
export interface Blob {
  path: string;
  /** SHA-256 of its bytes. */
  sha256: string;
  bytes: number;
  /** The outbox entry beside which its bytes are stored. */
  kept?: string;
  /** Object id in git, once git has it. */
  oid?: string;
  /** Whether compression would make it no smaller, as with a picture; known once git has it. */
  dense?: boolean;
}

/**
 * A commit to be made: added or replaced files with their own author (architecture, group commit). It has the
 * same form when it is passed on, in the outbox, and when it is built on a tip.
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
  /** Set if the commit is left out when a requirement does not hold; the commits to be published with it are not. */
  optional?: true;
}
