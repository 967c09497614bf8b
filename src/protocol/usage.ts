import { amount } from './text/words.ts';

/** Usage of a run, as its agent CLI states it (bills.md). Anything that the CLI does not state is absent. */
export interface Usage {
  /** The model, as the CLI names it; the most expensive one, if there were several. */
  model?: string;
  /** Tokens that were read, without those of the cache. */
  input: number;
  /** Tokens that were read from the cache. */
  cached: number;
  /** Tokens that were written, thinking included. */
  output: number;
  /** US dollars, by the CLI's own account: nothing here multiplies tokens with prices. */
  usd?: number;
  /** Number of requests to the model. */
  turns?: number;
}

/** Usage of an answer's run, as the answer records it: a {@link Usage}, and the duration in milliseconds. */
export interface UsageOnRecord extends Usage {
  ms: number;
}

/** Budget of a run: US dollars, and tokens without cached ones; an absent one is unlimited. */
export interface Handed {
  usd?: number;
  tokens?: number;
}

const MODEL = /^[\w.:/@[\]+ -]{1,100}$/;
/** Highest values that are believed; no run uses more, so that one line cannot spoil every sum. */
const MAX_TOKENS = 1e10;
const MAX_USD = 1e6;
const MAX_MS = 1e10;

/** Whether a text may be the name of a model: it is in the header of an answer, which has little room. */
export function isModel(value: unknown): value is string {
  return typeof value === 'string' && MODEL.test(value);
}

/** Parses a usage from a header, which anybody may have pushed; undefined if it is invalid. */
export function usageIn(value: unknown): UsageOnRecord | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = value as Record<string, unknown>;
  const input = whole(fields['input'], MAX_TOKENS);
  const cached = whole(fields['cached'], MAX_TOKENS);
  const output = whole(fields['output'], MAX_TOKENS);
  const ms = whole(fields['ms'], MAX_MS);
  if (input === undefined || cached === undefined || output === undefined || ms === undefined)
    return undefined;
  const { model } = fields;
  const usd = amount(fields['usd'], MAX_USD);
  const turns = whole(fields['turns'], MAX_TOKENS);
  return {
    ...(isModel(model) && { model }),
    ...{ input, cached, output },
    ...(usd !== undefined && { usd }),
    ...(turns !== undefined && { turns }),
    ms,
  };
}

/** Parses a count from 0 to `most`: there is no half of a token. */
function whole(value: unknown, most: number): number | undefined {
  const number = amount(value, most);
  return number === undefined ? undefined : Math.round(number);
}

/** Tokens and money of several runs together; `usd` is absent if none of them states money. */
export interface UsageSum {
  input: number;
  cached: number;
  output: number;
  usd?: number;
}

/** Adds the usage of one run, or the sum of several, to a sum. */
export function addUsage(sum: UsageSum, { input, cached, output, usd }: UsageSum): void {
  sum.input += input;
  sum.cached += cached;
  sum.output += output;
  if (usd !== undefined) sum.usd = addMoney(sum.usd ?? 0, usd);
}

/** Sums the usage of two parts of one run; fields that are not amounts are those of the later part. */
export function usageOfBoth(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return other ?? one;
  const { input, cached, output, usd } = one;
  const sum: UsageSum = { input, cached, output, ...(usd !== undefined && { usd }) };
  addUsage(sum, other);
  return { ...one, ...other, ...sum };
}

/**
 * Adds US dollars in whole billionths, so that the sum does not depend on the order or on intermediate sums.
 * CLIs state no smaller amounts.
 */
export function addMoney(one: number, other: number): number {
  return (Math.round(one * BILLION) + Math.round(other * BILLION)) / BILLION;
}

const BILLION = 1e9;
