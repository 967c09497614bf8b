import { SANDBOX_OPTIONS, isWorkdir } from './tier-sandbox.ts';
import { FALLBACK_OPTIONS } from './tier-fallback.ts';
import { GATE_OPTIONS, PERMIT_OPTIONS } from './tier-gate.ts';
import { isName } from '../layout.ts';
import { shown, wholeIn } from '../text/result.ts';
import { isRefName } from '../text/words.ts';

/** A run's memory of earlier runs of its tier (warm.md). */
export interface TierSession {
  /**
   * The runs of an actor in a thread share one session of their CLI; absent: each has a new one. `resume`:
   * each is a process that resumes the session; `warm`: one process is kept.
   */
  session?: 'resume' | 'warm';
  /** Number of runs after which a new session starts; {@link SESSION_MAX_TURNS} if absent. */
  sessionMaxTurns?: number;
  /** Number of earlier messages between the actor and the asker that a new thread contains; absent for none. */
  history?: number;
}

/**
 * Whether a tier accepts further messages while it works (warm.md, "Steering"): a run behind a gate does only
 * what was approved.
 */
export function takesMore({ session, gate }: TierSession & { gate?: unknown }): boolean {
  return session === 'warm' && gate === undefined;
}

/** Kind of a run's session: a new one, one resumed in a process of its own, or one in a process that was kept. */
export type SessionKind = 'fresh' | 'resumed' | 'warm';

/** Names of the options of sessions in a host file. */
const SESSION_OPTIONS: readonly string[] = ['session', 'session_max_turns', 'history'];

/** Default number of runs of a session. */
export const SESSION_MAX_TURNS = 20;
/** Most earlier messages that a new thread may contain. */
export const MAX_HISTORY = 200;

/** Parses the options of sessions of a tier; invalid values are added to the problems. */
export function tierSession(
  where: string,
  { session = 'fresh', session_max_turns: turns, history }: Record<string, unknown>,
  problems: string[],
): TierSession {
  const isKept = session === 'resume' || session === 'warm';
  if (session !== 'fresh' && !isKept)
    problems.push(`${where}.session is ${shown(session)}, expected fresh, resume or warm`);
  const most = wholeIn(turns, 1000);
  if (turns !== undefined && most === undefined)
    problems.push(
      `${where}.session_max_turns is ${shown(turns)}, expected a whole number from 1 to 1000`,
    );
  else if (turns !== undefined && !isKept && session === 'fresh')
    problems.push(
      `${where}.session_max_turns has no effect without ${where}.session: resume, or warm`,
    );
  const earlier = wholeIn(history, MAX_HISTORY);
  if (history !== undefined && earlier === undefined)
    problems.push(
      `${where}.history is ${shown(history)}, expected how many messages are shown, from 1 to ${String(MAX_HISTORY)}`,
    );
  return {
    ...(isKept && { session }),
    ...(isKept && most !== undefined && { sessionMaxTurns: most }),
    ...(earlier !== undefined && { history: earlier }),
  };
}

/** Parses the kind of a run's session in a header that anybody may have written. */
export function sessionIn(value: unknown): SessionKind | undefined {
  return value === 'fresh' || value === 'resumed' || value === 'warm' ? value : undefined;
}

/** Spending limits of a tier (bills.md, "Budgets"); an absent budget is unlimited. */
export interface TierBudgets {
  /** US dollars of its runs in a day (UTC). */
  maxUsdPerDay?: number;
  /** Tokens that its runs read, without cached ones, and write in a day (UTC). */
  maxTokensPerDay?: number;
  /** US dollars of all runs of one thread on this machine; beyond it no run of the tier starts. */
  maxUsdPerThread?: number;
}

/** Names of the budgets in a host file. */
const BUDGET_OPTIONS: readonly string[] = [
  'max_usd_per_day',
  'max_tokens_per_day',
  'max_usd_per_thread',
];

const MAX_USD = 1_000_000;
const MAX_TOKENS = 1e12;

/** Parses the budgets of a tier; invalid ones are added to the problems. */
export function tierBudgets(
  where: string,
  options: Record<string, unknown>,
  problems: string[],
): TierBudgets {
  const read = <Name extends keyof TierBudgets>(
    name: Name,
    key: string,
    amountOf: (value: unknown) => number | undefined,
    expected: string,
  ): Partial<Record<Name, number>> => {
    const value = options[key];
    if (value === undefined) return {};
    const amount = amountOf(value);
    if (amount !== undefined) return { [name]: amount } as Record<Name, number>;
    problems.push(`${where}.${key} is ${shown(value)}, expected ${expected}`);
    return {};
  };
  const [usdPerDay, tokensPerDay, usdPerThread] = BUDGET_OPTIONS as [string, string, string];
  return {
    ...read('maxUsdPerDay', usdPerDay, usdOf, A_USD),
    ...read('maxTokensPerDay', tokensPerDay, tokensOf, 'a number of tokens such as 500000'),
    ...read('maxUsdPerThread', usdPerThread, usdOf, A_USD),
  };
}

/** Description of an amount of money, for an error message. */
export const A_USD = 'an amount of US dollars such as 20 or 0.50';

/** Parses an amount of US dollars above 0, to the millionth; undefined for anything else. */
export function usdOf(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (!/^\d{1,7}(?:\.\d{1,6})?$/.test(String(value).trim())) return undefined;
  const usd = Number(value);
  return usd > 0 && usd <= MAX_USD ? usd : undefined;
}

function tokensOf(value: unknown): number | undefined {
  return wholeIn(value, MAX_TOKENS);
}

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

/** The senders whose tasks a tier serves (docs/decisions/16-signatures.md). */
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
