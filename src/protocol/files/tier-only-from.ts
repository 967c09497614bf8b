import { isName } from '../names.ts';
import { shown } from '../text/result.ts';

/** Whose tasks a tier serves (decision 42). */
export interface TierOnlyFrom {
  /** Names of which keys are pinned on the machine, or `pinned`; absent where the tier serves everybody. */
  onlyFrom?: readonly string[];
}

/** The option as the host file calls it. */
export const ONLY_FROM_OPTIONS: readonly string[] = ['only_from'];

const MOST_NAMES = 64;

/** Reads whose tasks a tier serves; what is no list of names is added to the problems. */
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
