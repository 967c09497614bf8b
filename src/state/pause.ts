import { Cell } from '../store/rows.ts';

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
