/** What a host file says of a tier: its command, and where it works when that is no workspace. */
export interface TierSlot {
  cli: string;
  workdir?: string;
}

/** That of an input that may hold more. */
export function slotIn({ cli, workdir }: TierSlot): TierSlot {
  return { cli, ...(workdir !== undefined && { workdir }) };
}

/** The same as it is written: a command alone stays a plain line. */
export function slotOf({ cli, workdir }: TierSlot): string | Record<string, string> {
  return workdir === undefined ? cli : { cli, workdir };
}
