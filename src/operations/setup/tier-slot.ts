/** What a host file contains about a tier: its command, and where it works if not in a workspace. */
export interface TierSlot {
  cli: string;
  workdir?: string;
}

/** The slot of an input that may contain more. */
export function slotIn({ cli, workdir }: TierSlot): TierSlot {
  return { cli, ...(workdir !== undefined && { workdir }) };
}

/** The slot as it is written to a file: a command alone is a plain string. */
export function slotOf({ cli, workdir }: TierSlot): string | Record<string, string> {
  return workdir === undefined ? cli : { cli, workdir };
}
