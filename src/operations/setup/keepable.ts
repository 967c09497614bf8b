import { askingOf } from '../../agents/permission/asking.ts';
import { unkept } from '../../dispatcher/run/budgets.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Tier } from '../../protocol/files/host-file.ts';

/**
 * @throws CrosstalkError `usage` for a budget of what a command does not state, and for `permit` with a
 *   command that cannot ask
 */
export function requireKeepable(tier: Tier): void {
  const problem = unkept(tier) ?? cannotAsk(tier);
  if (problem !== undefined) throw new CrosstalkError('usage', `${problem}; nothing was changed`);
}

/** @throws CrosstalkError `usage` for `permit` with a command that cannot ask */
export function requireAsking(tier: Tier): void {
  const problem = cannotAsk(tier);
  if (problem !== undefined) throw new CrosstalkError('usage', `${problem}; nothing was changed`);
}

function cannotAsk({ name, cli, permit }: Tier): string | undefined {
  const asking = permit === undefined ? undefined : askingOf(cli);
  return asking?.ok === false
    ? `permit cannot be kept by the tier ${name}: ${asking.why}; take permit out, or change its command`
    : undefined;
}
