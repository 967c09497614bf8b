import type { Finding } from '../../present/finding.ts';

/** One examined thing. `fix` names the remedy if there is a problem. */
export interface Check {
  check: string;
  ok: boolean;
  /** Whether it keeps no mail from moving, so that it is told and nothing counts as broken. */
  warning?: true;
  found: string;
  fix: string;
}

/** Whether a check has found what can keep mail from moving. */
export function isBroken({ ok, warning }: Check): boolean {
  return !ok && warning !== true;
}

/** A finding of `status` as a check. */
export function checkOf({ check, found, fix, command }: Finding): Check {
  return { check, ok: false, found, fix: fix || (command ?? 'crosstalk status') };
}

/** A check that keeps no mail from moving. */
export function asWarning(check: Check): Check {
  return { ...check, warning: true };
}
