import type { ApprovedOptions } from '../../protocol/approval/record.ts';
import { USUAL_SANDBOX } from '../../protocol/files/tier-sandbox.ts';

/** What a host file contains about a tier: its command, and where it works if not in a workspace. */
export interface TierSlot {
  cli: string;
  workdir?: string;
  /** The repository of which each thread gets a copy. */
  worktree?: string;
  sandbox?: 'default';
}

/** The slot of an input that may contain more. */
export function slotIn({ cli, workdir, worktree, sandbox }: TierSlot): TierSlot {
  return {
    cli,
    ...(workdir !== undefined && { workdir }),
    ...(worktree !== undefined && { worktree }),
    ...(sandbox !== undefined && { sandbox }),
  };
}

/** The slot as it is written to a file: a command alone is a plain string. */
export function slotOf(slot: TierSlot): string | Record<string, string> {
  const { cli, ...place } = slotIn(slot);
  return Object.keys(place).length === 0 ? cli : { cli, ...place };
}

/** The slot as it is approved. */
export function approvedSlot({ sandbox, ...slot }: TierSlot): ApprovedOptions {
  return { ...slot, ...(sandbox !== undefined && { sandbox: { ...USUAL_SANDBOX } }) };
}
