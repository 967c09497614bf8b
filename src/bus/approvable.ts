import type { HeldChange } from '../protocol/approval/approval.ts';
import type { Approvals } from '../state/approvals.ts';

/**
 * One kind of thing that has an effect on this machine only as its operator approved it (trust.md §2).
 * Whoever adds such a kind adds it to `approvables`: `host show`, `host approve`, `status` and
 * the dispatcher's log then know it.
 */
export interface Approvable {
  /** The changes that wait for approval, given what is approved. */
  held: (approvals: Approvals) => readonly HeldChange[];
  /** The approvals once some of these changes are accepted; absent for what is recorded elsewhere. */
  accept?: (approvals: Approvals, chosen: readonly HeldChange[]) => Approvals;
  /** Records them elsewhere; done after the approvals are on disk. */
  record?: (chosen: readonly HeldChange[]) => Promise<void>;
}
