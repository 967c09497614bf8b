import { shown, wholeIn } from '../text/result.ts';

/** The tiers that take a tier's mail when it cannot be handled there (bills.md, "Fallback"). */
export interface TierFallback {
  /** Names of tiers of the same actor, the first one first. */
  fallback?: readonly string[];
  /** Number of failures of a delivery after which the next tier takes it. */
  fallbackAfter?: number;
}

/** Names of the options of a fallback in a host file. */
export const FALLBACK_OPTIONS: readonly string[] = ['fallback', 'fallback_after'];

/** Default number of failures of a delivery after which the next tier takes it. */
const FALLBACK_AFTER = 2;
const MOST_TIERS = 16;

/** Parses the fallback of a tier; invalid values are added to the problems. */
export function tierFallback(
  where: string,
  { fallback, fallback_after: after }: Record<string, unknown>,
  problems: string[],
): TierFallback {
  const names = namesIn(fallback);
  if (fallback !== undefined && names === undefined)
    problems.push(`${where}.fallback is ${shown(fallback)}, expected a tier, or a list of tiers`);
  const times = wholeIn(after, 100_000);
  if (after !== undefined && times === undefined)
    problems.push(
      `${where}.fallback_after is ${shown(after)}, expected a whole number from 1 to 100000`,
    );
  return {
    ...(names !== undefined && { fallback: names }),
    ...(times !== undefined && { fallbackAfter: times }),
  };
}

/** Parses the tiers of a fallback: a list, or a text with commas, as `actor set` writes it. */
function namesIn(value: unknown): string[] | undefined {
  const list: unknown[] | undefined = Array.isArray(value)
    ? value
    : typeof value === 'string'
      ? value.split(',')
      : undefined;
  const names = list?.map((name) => (typeof name === 'string' ? name.trim() : ''));
  const isList = names !== undefined && names.length > 0 && names.length <= MOST_TIERS;
  return isList && !names.includes('') ? [...new Set(names)] : undefined;
}

interface Named extends TierFallback {
  name: string;
}

/** Returns a problem for each tier with a fallback that its actor does not have. */
export function unknownFallbacks(actor: string, tiers: readonly Named[]): string[] {
  const names = tiers.map(({ name }) => name);
  return tiers.flatMap(({ name, fallback = [] }) =>
    fallback
      .filter((one) => !names.includes(one))
      .map(
        (one) =>
          `actors.${actor}.${name}.fallback names ${shown(one)}, which is no tier of ${actor}; its tiers are ${names.join(', ')}`,
      ),
  );
}

/**
 * Returns the tiers that may handle mail for one tier, in the order in which they are tried: the tier, its
 * fallbacks, and their fallbacks. Each occurs once, so tiers that name each other make no loop.
 */
export function tiersFrom<T extends Named>(tiers: readonly T[], first: T): T[] {
  const order = [first];
  for (const tier of order)
    for (const name of tier.fallback ?? []) {
      const next = tiers.find((one) => one.name === name);
      if (next !== undefined && !order.some((one) => one.name === name)) order.push(next);
    }
  return order;
}

/**
 * Returns the number of failures of a delivery allowed in a tier: until the next tier takes it, or in the last one
 * until it is quarantined.
 *
 * @param order as {@link tiersFrom} returns it
 */
export function failuresAllowed(
  order: readonly (Named & { attempts: number })[],
  { name, attempts, fallbackAfter = FALLBACK_AFTER }: Named & { attempts: number },
): number {
  return order.at(-1)?.name === name ? attempts : Math.min(attempts, fallbackAfter);
}
