import { addUsage, isModel, type Usage } from '../../protocol/usage.ts';
import { dollars } from './reader.ts';

/** The name of a model, if it is known and can be one. */
export function named(model: string): Pick<Usage, 'model'> {
  return isModel(model) ? { model } : {};
}

/** An amount that a CLI states. */
export function money(value: unknown): Pick<Usage, 'usd'> {
  const usd = dollars(value);
  return usd === undefined ? {} : { usd };
}

/** The usage of a whole run from that of its turns; undefined if there was none. Money is stated by all, or not. */
export function together(turns: readonly Usage[], model: string): Usage | undefined {
  if (turns.length === 0) return undefined;
  const sum: Usage = { ...named(model), input: 0, cached: 0, output: 0, turns: turns.length };
  for (const turn of turns) addUsage(sum, turn);
  if (turns.some(({ usd }) => usd === undefined)) delete sum.usd;
  return sum;
}
