import type { Memory } from './memory.ts';

/** Milliseconds in which a note loses half of its weight in a search. */
const HALF_LIFE = 30 * 24 * 60 * 60 * 1000;
/** Kinds of notes that lose no weight. */
const AGELESS: readonly (string | undefined)[] = ['decision', 'reference'];

/**
 * Weights the score of a note in a search by its age (automation.md, "Memory"): half of it after 30 days, except for
 * decisions and references. A note that claims to be from the future counts as a new one.
 *
 * @param score by its words, not negative
 */
export function agedScore(
  score: number,
  { kind, timestamp }: Pick<Memory, 'kind' | 'timestamp'>,
  now: Date,
): number {
  if (AGELESS.includes(kind)) return score;
  const age = Math.max(0, now.getTime() - Date.parse(timestamp));
  return score * 0.5 ** (age / HALF_LIFE);
}
