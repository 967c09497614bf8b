/** One thing looked at. `fix` says what to do when it is not well. */
export interface Check {
  check: string;
  ok: boolean;
  found: string;
  fix: string;
}
