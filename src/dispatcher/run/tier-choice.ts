import { failuresAllowed, tiersFrom } from '../../protocol/files/tier-fallback.ts';
import { chooseTier, type Tier } from '../../protocol/files/host-file.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Job } from './job.ts';

/**
 * The tiers that may handle a batch, in the order in which they are tried (bills.md, "Fallback"); empty
 * for an actor that is not served.
 *
 * @param requested the tiers that its messages request
 * @param letter if it failed before: then what it was asked for counts
 */
export function tiersFor(
  tiers: readonly Tier[],
  requested: readonly (string | undefined)[],
  letter?: DeadLetter,
): Tier[] {
  const names = letter === undefined ? requested : [letter.tier_asked ?? letter.tier];
  const asked = chooseTier(tiers, names);
  return asked === undefined ? [] : tiersFrom(tiers, asked);
}

/** The tiers in which a delivery has not failed too often; at least the last one. */
export function untriedTiers(order: readonly Tier[], letter: DeadLetter | undefined): Tier[] {
  const failures = failuresOf(order, letter);
  const left = order.filter((tier) => failuresIn(failures, tier) < failuresAllowed(order, tier));
  return left.length > 0 ? left : order.slice(-1);
}

/** What is to be done after a failure: the next attempt, if there is one. */
interface After {
  /** By tier. */
  failures: Record<string, number>;
  /** How often the tier of the next attempt has failed. */
  next?: { failures: number };
}

/** @param isHopeless whether another attempt in the same tier would fail as this one did */
export function afterFailure(
  { tier, tiers }: Pick<Job, 'tier' | 'tiers'>,
  previous: DeadLetter | undefined,
  isHopeless: boolean,
  reason: DeadLetter['reason'],
): After {
  const before = failuresOf(tiers, previous);
  const counted = failuresIn(before, tier) + 1;
  const most = failuresAllowed(tiers, tier);
  const failures = { ...before, [tier.name]: isHopeless ? Math.max(counted, most) : counted };
  // What is wrong with a schema is wrong in every tier, and whom one tier turns away is not let in by
  // another.
  if (isHopeless && ['bad_schema', 'not_accepted'].includes(reason)) return { failures };
  const next = tiers.find((one) => failuresIn(failures, one) < failuresAllowed(tiers, one));
  // A first attempt in another tier follows as soon as a first retry does.
  return next === undefined
    ? { failures }
    : { failures, next: { failures: Math.max(1, failuresIn(failures, next)) } };
}

/** A letter of a delivery that had no fallback counts for the tier in which it was tried. */
function failuresOf(
  order: readonly Tier[],
  letter: DeadLetter | undefined,
): Record<string, number> {
  if (letter === undefined) return {};
  const { failures, tier, attempts_since_release: made } = letter;
  const isCounted = failures !== undefined && order.length > 1;
  return isCounted ? { ...failures } : { [tier]: made };
}

/** A tier may have a name that every object has, such as `constructor`. */
function failuresIn(failures: Record<string, number>, { name }: Pick<Tier, 'name'>): number {
  return Object.hasOwn(failures, name) ? (failures[name] ?? 0) : 0;
}
