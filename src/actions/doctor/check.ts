import type { Finding } from '../../present/finding.ts';

/** One examined thing. `fix` names the remedy if there is a problem. */
export interface Check {
  check: string;
  ok: boolean;
  /** Whether it keeps no mail from moving, so that it is shown and nothing counts as broken. */
  warning?: true;
  found: string;
  fix: string;
}

/** Whether a check has found a problem that can keep mail from moving. */
export function isBroken({ ok, warning }: Check): boolean {
  return !ok && warning !== true;
}

/** Converts a finding of `status` into a check. */
export function checkOf({ check, found, fix, command }: Finding): Check {
  return { check, ok: false, found, fix: fix || (command ?? 'crosstalk status') };
}

/** Marks a check as one that keeps no mail from moving. */
export function asWarning(check: Check): Check {
  return { ...check, warning: true };
}
