import { Rows, Cell } from '../store/rows.ts';

/** An agent CLI's account that does not work at present (docs/decisions/13-runs.md). Times are ISO 8601 UTC. */
export interface Hold {
  /** The account: `claude`, or `claude at ~/.claude-work`. */
  id: string;
  /** The known agent CLI. */
  agent: string;
  reason: 'rate_limited' | 'out_of_credit' | 'not_logged_in';
  since: string;
  /** Time when one run tests whether the account works again. */
  until: string;
  /** The line of the CLI that reported the problem. */
  said: string;
  /** Number of refused runs in a row; concurrent ones count once. */
  refusals: number;
  /** The files of the login at the time of the refusal: path → a stamp that changes with the file. */
  login: Record<string, string>;
}

/** The holds of one machine, which any of its processes may change. */
export class Holds extends Rows<Hold> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'hold');
  }

  /** Replaces a hold that nobody has changed since it was read; without `after`, it ends. */
  swap(before: Hold, after?: Hold): Promise<void> {
    return this.write((items) => {
      if (JSON.stringify(items.get(before.id)) !== JSON.stringify(before)) return;
      if (after === undefined) items.remove(before.id);
      else items.put(after);
    });
  }
}

/** The person who paused the dispatcher of this machine, and the time (ISO 8601 UTC). */
export interface Pause {
  since: string;
  by: string;
}

/** The pause of a machine's dispatcher. */
export class Pauses extends Cell<Pause> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'pause');
  }
}
