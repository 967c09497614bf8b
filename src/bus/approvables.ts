import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { accept, heldSettings, type HeldChange } from '../protocol/approval/approval.ts';
import { approvalHash } from '../store/seal.ts';
import { approvedFor, type Approvals } from '../state/approvals.ts';
import type { Approvable } from './approvable.ts';
import { serversThatWait, type ProfilesAt } from './approvable-servers.ts';
import type { Approving, JudgedFile } from './approvals.ts';

/**
 * The list of everything that is approved.
 *
 * @param judged this machine's host file, where there is one
 * @param profiles where the profiles of its actors are read
 */
export async function approvables(
  parts: Approving,
  judged: JudgedFile | undefined,
  profiles: ProfilesAt,
): Promise<Approvable[]> {
  const ofHost =
    judged === undefined
      ? []
      : [commandsOf(judged), await serversThatWait(parts, judged.file, profiles)];
  return [...ofHost, await settingsThatWait(parts)];
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
  const settings = await transport.changedSettings();
  const { signingKey } = transport.defaults;
  // Which transport it is concerns only what is signed.
  const isSigning = signingKey !== undefined || existsSync(join(dirname(approvals), 'pins.json'));
  const identity = isSigning ? await transport.identityChange() : undefined;
  const changes = identity === undefined ? settings : [...settings, identity];
  const held = changes.length === 0 ? [] : heldSettings(changes, approvalHash(approvals));
  return {
    held: () => held,
    record: async (chosen) => {
      const accepted = changes.filter((_, at) => chosen.some((change) => change === held[at]));
      if (accepted.length > 0) await transport.acceptSettings(accepted);
    },
  };
}
