import { BUDGET_OPTIONS } from './tier-budgets.ts';
import { SANDBOX_OPTIONS } from './tier-sandbox.ts';
import { FALLBACK_OPTIONS } from './tier-fallback.ts';
import { WORKTREE_OPTIONS } from './tier-worktree.ts';
import { GATE_OPTIONS } from './tier-gate.ts';
import { PERMIT_OPTIONS } from './tier-permit.ts';
import { ONLY_FROM_OPTIONS } from './tier-only-from.ts';
import { SESSION_OPTIONS } from './tier-session.ts';

/** The options of a tier, as the host file calls them. */
export const TIER_OPTIONS: readonly string[] = [
  'cli',
  'workdir',
  'count',
  'timeout',
  'attempts',
  'retry_delay',
  'max_runs_per_hour',
  'max_depth',
  ...BUDGET_OPTIONS,
  ...FALLBACK_OPTIONS,
  ...WORKTREE_OPTIONS,
  ...SANDBOX_OPTIONS,
  ...ONLY_FROM_OPTIONS,
  ...GATE_OPTIONS,
  ...PERMIT_OPTIONS,
  ...SESSION_OPTIONS,
];
