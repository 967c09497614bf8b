import type { ApprovedOptions } from '../../protocol/approval/record.ts';
import { USUAL_SANDBOX } from '../../protocol/files/tier-sandbox.ts';

/** What a host file contains about a tier: its command, and where it works if not in a workspace. */
export interface TierSlot {
  cli: string;
  workdir?: string;
  /** The repository of which each thread gets a copy. */
  worktree?: string;
  sandbox?: 'default';
  /** Whose tasks it serves, as host files name them; everybody's without it. */
  onlyFrom?: readonly string[];
}

/** The slot of an input that may contain more. */
export function slotIn({ cli, workdir, worktree, sandbox, onlyFrom }: TierSlot): TierSlot {
  return {
    cli,
    ...(workdir !== undefined && { workdir }),
    ...(worktree !== undefined && { worktree }),
    ...(sandbox !== undefined && { sandbox }),
    ...(onlyFrom !== undefined && { onlyFrom }),
  };
}

/** The slot as it is written to a file: a command alone is a plain string. */
export function slotOf(slot: TierSlot): string | Record<string, string> {
  const { cli, onlyFrom, ...place } = slotIn(slot);
  const options = { ...place, ...(onlyFrom !== undefined && { only_from: onlyFrom.join(', ') }) };
  return Object.keys(options).length === 0 ? cli : { cli, ...options };
}

/** The slot as it is approved. */
export function approvedSlot({ sandbox, onlyFrom, ...slot }: TierSlot): ApprovedOptions {
  return {
    ...slot,
    ...(sandbox !== undefined && { sandbox: { ...USUAL_SANDBOX } }),
    ...(onlyFrom !== undefined && { only_from: [...onlyFrom] }),
  };
}
