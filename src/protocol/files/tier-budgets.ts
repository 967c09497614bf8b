import { shown } from '../text/result.ts';

/** What a tier may use at most (bills.md, "Budgets"); an absent budget is none. */
export interface TierBudgets {
  /** US dollars of its runs in a day (UTC). */
  maxUsdPerDay?: number;
  /** Tokens that its runs read, without those of the cache, and write in a day (UTC). */
  maxTokensPerDay?: number;
  /** US dollars of all runs of one thread on this machine; a run of the tier is not begun beyond it. */
  maxUsdPerThread?: number;
}

/** The budgets of a tier, as the host file calls them. */
export const BUDGET_OPTIONS: readonly string[] = [
  'max_usd_per_day',
  'max_tokens_per_day',
  'max_usd_per_thread',
];

const MAX_USD = 1_000_000;
const MAX_TOKENS = 1e12;

/** Reads the budgets of a tier; what cannot be one is added to the problems. */
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

/** What an amount of money looks like, for an error message. */
export const A_USD = 'an amount of US dollars such as 20 or 0.50';

/** An amount of US dollars above 0, to the millionth; undefined for anything else. */
export function usdOf(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (!/^\d{1,7}(?:\.\d{1,6})?$/.test(String(value).trim())) return undefined;
  const usd = Number(value);
  return usd > 0 && usd <= MAX_USD ? usd : undefined;
}

function tokensOf(value: unknown): number | undefined {
  const tokens = Number(value);
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= MAX_TOKENS ? tokens : undefined;
}
