import { unkept } from '../../dispatcher/run/budgets.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Tier } from '../../protocol/files/host-file.ts';

/** @throws CrosstalkError `usage` for a budget of what a command does not state */
export function requireKeepable(tier: Tier): void {
  const problem = unkept(tier);
  if (problem !== undefined) throw new CrosstalkError('usage', `${problem}; nothing was changed`);
}
