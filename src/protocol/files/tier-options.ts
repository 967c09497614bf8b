import { BUDGET_OPTIONS } from './tier-budgets.ts';
import { SANDBOX_OPTIONS, isWorkdir } from './tier-sandbox.ts';
import { FALLBACK_OPTIONS } from './tier-fallback.ts';
import { GATE_OPTIONS, PERMIT_OPTIONS } from './tier-gate.ts';
import { SESSION_OPTIONS } from './tier-session.ts';
import { isName } from '../names.ts';
import { shown } from '../text/result.ts';
import { isRefName } from '../text/branch.ts';

/** The copy of a repository that each thread of a tier receives (work.md); without `worktree` there is none. */
export interface TierWorktree {
  /** The repository, absolute or below `~`. */
  worktree?: string;
  /** The branch, tag or remote branch from which a copy starts; by default the one that is checked out there. */
  worktreeFrom?: string;
  /** The remote of that repository to which the branch of a thread is pushed. */
  worktreePush?: string;
  /** A command line that prepares a new copy, such as `npm ci`. */
  before?: string;
}

/** Names of the options of a copy in a host file. */
export const WORKTREE_OPTIONS: readonly string[] = [
  'worktree',
  'worktree_from',
  'worktree_push',
  'before',
];

/** Parses the options of a copy of a repository; invalid values are added to the problems. */
export function tierWorktree(
  where: string,
  options: Record<string, unknown>,
  problems: string[],
): TierWorktree {
  const { worktree, worktree_from: from, worktree_push: push, before, workdir } = options;
  const wrong = (option: string, value: unknown, expected: string): void => {
    problems.push(`${where}.${option} is ${shown(value)}, expected ${expected}`);
  };
  if (worktree === undefined) {
    for (const option of WORKTREE_OPTIONS)
      if (options[option] !== undefined)
        problems.push(`${where}.${option} has no effect without ${where}.worktree`);
    return {};
  }
  if (!isWorkdir(worktree))
    wrong('worktree', worktree, 'a git repository, absolute or below ~, such as ~/src/app');
  if (workdir !== undefined)
    problems.push(
      `${where} has both workdir and worktree; keep worktree for a copy for each thread, or workdir for one folder for all`,
    );
  if (from !== undefined && !isRefName(from)) wrong('worktree_from', from, 'a branch such as main');
  if (push !== undefined && !isRefName(push))
    wrong('worktree_push', push, 'the name of a remote, such as origin');
  const isCommand = typeof before === 'string' && before.trim() !== '';
  if (before !== undefined && !isCommand) wrong('before', before, 'a command line such as npm ci');
  return {
    ...(isWorkdir(worktree) && { worktree }),
    ...(isRefName(from) && { worktreeFrom: from }),
    ...(isRefName(push) && { worktreePush: push }),
    ...(isCommand && { before }),
  };
}

/** The senders whose tasks a tier serves (decision 42). */
export interface TierOnlyFrom {
  /** Names whose keys are pinned on the machine, or `pinned`; absent if the tier serves everybody. */
  onlyFrom?: readonly string[];
}

/** Name of this option in a host file. */
const ONLY_FROM_OPTIONS: readonly string[] = ['only_from'];

const MOST_NAMES = 64;

/** Parses the senders whose tasks a tier serves; anything but a list of names is added to the problems. */
export function tierOnlyFrom(
  where: string,
  { only_from: given }: Record<string, unknown>,
  problems: string[],
): TierOnlyFrom {
  if (given === undefined) return {};
  const list: unknown[] = Array.isArray(given)
    ? given
    : typeof given === 'string'
      ? given.split(',')
      : [given];
  const names = list.map((name) => (typeof name === 'string' ? name.trim() : name));
  if (names.length > 0 && names.length <= MOST_NAMES && names.every(isName))
    return { onlyFrom: [...new Set(names)] };
  problems.push(`${where}.only_from is ${shown(given)}, expected a name, or a list of names`);
  return {};
}

/** Names of the options of a tier in a host file. */
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
