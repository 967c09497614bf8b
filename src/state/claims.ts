import { Rows } from '../store/rows.ts';

/** A claim that this machine has made, kept until its end: a later start succeeds it at once. */
export interface OwnRow {
  /** The folder of the claims. */
  id: string;
  channel: string;
  relPath: string;
  actor: string;
  run: string;
}

/** Time for which the same beat of another host's claim was seen. */
export interface WatchRow {
  /** The folder of the claims. */
  id: string;
  n: number;
  /** Object id; null without one. */
  beat: string | null;
  /** Milliseconds, between fetches that succeeded. */
  seen: number;
}

/** The claims of this machine, and how long it has watched those of others (pools.md). */
export class ClaimRecords {
  readonly own: Rows<OwnRow>;
  readonly watches: Rows<WatchRow>;

  /** @param root the state directory */
  constructor(root: string) {
    this.own = new Rows(root, 'claim');
    this.watches = new Rows(root, 'claim-watch');
  }
}
