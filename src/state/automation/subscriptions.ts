import { Cell } from '../../store/rows.ts';

/** The progress of the search for answers of other hosts. Stored under these names. */
export interface Looked {
  /** The commit up to which it was done. */
  until: string;
  /** The subscriptions for which it was done. */
  names: string[];
}

/** This machine's record of the subscriptions that it fires for other hosts. */
export class SubscriptionRecord extends Cell<Looked> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'subscriptions');
  }
}
