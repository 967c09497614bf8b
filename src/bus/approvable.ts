import type { HeldChange } from '../protocol/approval/approval.ts';
import type { Approvals } from '../state/approvals.ts';

/**
 * One kind of setting that takes effect on this machine only as its operator approved it (trust.md §2). A
 * new kind must be added to `approvables`: `host show`, `host approve`, `status` and the dispatcher's log
 * then include it.
 */
export interface Approvable {
  /** Returns the changes that wait for approval, given the approvals. */
  held: (approvals: Approvals) => readonly HeldChange[];
  /** Returns the approvals with some of these changes accepted; absent for a kind that is recorded elsewhere. */
  accept?: (approvals: Approvals, chosen: readonly HeldChange[]) => Approvals;
  /** Records the changes elsewhere, after the approvals are on disk. */
  record?: (chosen: readonly HeldChange[]) => Promise<void>;
}
