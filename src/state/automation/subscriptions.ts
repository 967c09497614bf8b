import { Cell } from '../../store/rows.ts';

/** Up to where a machine has looked for answers of other hosts. Stored under these names. */
export interface Looked {
  /** The commit. */
  until: string;
  /** The subscriptions for which it was done. */
  names: string[];
}

/** What this machine remembers of the subscriptions that it fires for other hosts. */
export class SubscriptionRecord extends Cell<Looked> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'subscriptions');
  }
}
