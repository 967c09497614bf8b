import { shown } from '../text/result.ts';

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
export const BUDGET_OPTIONS: readonly string[] = [
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
  const tokens = Number(value);
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= MAX_TOKENS ? tokens : undefined;
}
