import { amount } from './text/amounts.ts';

/** What a run used, as its agent CLI states it (bills.md). Whatever the CLI does not state is absent. */
export interface Usage {
  /** The model, as the CLI names it; that which cost most, if there were several. */
  model?: string;
  /** Tokens that were read, without those of the cache. */
  input: number;
  /** Tokens that were read from the cache. */
  cached: number;
  /** Tokens that were written, thinking included. */
  output: number;
  /** US dollars, by the CLI's own account: nothing here multiplies tokens with prices. */
  usd?: number;
  /** How often the model was asked. */
  turns?: number;
}

/** What an answer tells of its run: a {@link Usage}, and how long it took, in milliseconds. */
export interface UsageOnRecord extends Usage {
  ms: number;
}

/** What a run is allowed to use at most, as far as a budget limits it: US dollars, and tokens without cached ones. */
export interface Handed {
  usd?: number;
  tokens?: number;
}

const MODEL = /^[\w.:/@[\]+ -]{1,100}$/;
/** No run uses more; what claims to is not believed, so that one line cannot spoil every sum. */
const MAX_TOKENS = 1e10;
const MAX_USD = 1e6;
const MAX_MS = 1e10;

/** Whether a text may be the name of a model: an answer has it in its header, which has little room. */
export function isModel(value: unknown): value is string {
  return typeof value === 'string' && MODEL.test(value);
}

/** A usage from a header, which anybody may have pushed; undefined for what cannot be one. */
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

/** A count from 0 to `most`: there is no half of a token. */
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

/** The usage of two parts of one run; what is no amount is as the later one states it. */
export function usageOfBoth(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return other ?? one;
  const { input, cached, output, usd } = one;
  const sum: UsageSum = { input, cached, output, ...(usd !== undefined && { usd }) };
  addUsage(sum, other);
  return { ...one, ...other, ...sum };
}

/**
 * Adds US dollars in whole billionths, so that the sum is the same in whichever order, and by way of
 * whichever other sums, it is made. CLIs state no smaller amounts.
 */
export function addMoney(one: number, other: number): number {
  return (Math.round(one * BILLION) + Math.round(other * BILLION)) / BILLION;
}

const BILLION = 1e9;
