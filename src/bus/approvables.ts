import { accept, heldSettings, type HeldChange } from '../protocol/approval/approval.ts';
import { approvalHash } from '../state/approval-key.ts';
import { approvedFor, type Approvals } from '../state/approvals.ts';
import type { Approving, JudgedFile } from './approvals.ts';

/**
 * One kind of thing that has an effect on this machine only as its operator approved it (trust.md §2).
 * Whoever adds such a kind adds it to {@link approvables}: `host show`, `host approve`, `status` and
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

/**
 * The list of everything that is approved.
 *
 * @param judged this machine's host file, where there is one
 */
export async function approvables(
  parts: Approving,
  judged: JudgedFile | undefined,
): Promise<Approvable[]> {
  return [...(judged === undefined ? [] : [commandsOf(judged)]), await settingsThatWait(parts)];
}

/** Everything that waits for approval. */
export function heldOf(things: readonly Approvable[], approvals: Approvals): HeldChange[] {
  return things.flatMap((thing) => thing.held(approvals));
}

/** The tiers and default tiers of a host file. */
function commandsOf({ file, inForce }: JudgedFile): Approvable {
  const { alias } = file;
  return {
    held: (approvals) => inForce(approvals).held,
    accept: (approvals, chosen) => ({
      ...approvals,
      hosts: { ...approvals.hosts, [alias]: accept(approvedFor(approvals, alias), file, chosen) },
    }),
  };
}

/** The settings of the clone's git configuration. */
export async function settingsThatWait({
  transport,
  approvals,
}: Approving): Promise<Approvable & { held: () => readonly HeldChange[] }> {
  const changes = await transport.changedSettings();
  const held = changes.length === 0 ? [] : heldSettings(changes, await approvalHash(approvals));
  return {
    held: () => held,
    record: async (chosen) => {
      const accepted = changes.filter((_, at) => chosen.some((change) => change === held[at]));
      if (accepted.length > 0) await transport.acceptSettings(accepted);
    },
  };
}
