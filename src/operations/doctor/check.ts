/** One examined thing. `fix` names the remedy if there is a problem. */
export interface Check {
  check: string;
  ok: boolean;
  found: string;
  fix: string;
}
