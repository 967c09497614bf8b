import { MAX_MS, parseDuration } from '../text/duration.ts';
import { shown } from '../text/result.ts';
import { ASKER, isApprover } from './tier-gate.ts';

/** Whether a person is asked for permission in the middle of a run (work.md, "A person in the loop"). */
export interface TierPermit {
  /** Who is asked: a name, or {@link ASKER}; absent where the CLI decides as its flags say. */
  permit?: string;
  /** Milliseconds after which a question counts as denied; {@link PERMIT_TIMEOUT} if absent. */
  permitTimeout?: number;
}

/** The options as the host file calls them. */
export const PERMIT_OPTIONS: readonly string[] = ['permit', 'permit_timeout'];

/** Milliseconds for which a question waits where the tier does not say. */
export const PERMIT_TIMEOUT = 600_000;
/** A run is kept for as long as its question waits, up to five times. */
const MOST_MS = Math.min(MAX_MS, 24 * 3_600_000);

/** Reads who is asked for permission; what cannot be that is added to the problems. */
export function tierPermit(
  where: string,
  { permit, permit_timeout: timeout }: Record<string, unknown>,
  problems: string[],
): TierPermit {
  if (permit === undefined) {
    if (timeout !== undefined)
      problems.push(`${where}.permit_timeout has no effect without ${where}.permit`);
    return {};
  }
  if (!isApprover(permit))
    problems.push(
      `${where}.permit is ${shown(permit)}, expected ${ASKER}, or the name of who is asked`,
    );
  const given = typeof timeout === 'string' ? parseDuration(timeout.trim()) : undefined;
  const isTime = given !== undefined && given > 0 && given <= MOST_MS;
  if (timeout !== undefined && !isTime)
    problems.push(
      `${where}.permit_timeout is ${shown(timeout)}, expected a duration such as 90s or 10m, at most 24h`,
    );
  return {
    ...(isApprover(permit) && { permit }),
    ...(isTime && { permitTimeout: given }),
  };
}

/** Says which tiers ask an actor of the same file for permission, which can't give it. */
export function actorsAsked(
  actors: ReadonlyMap<string, readonly ({ name: string } & TierPermit)[]>,
): string[] {
  return [...actors].flatMap(([actor, tiers]) =>
    tiers.flatMap(({ name, permit }) =>
      permit !== undefined && actors.has(permit)
        ? [
            `actors.${actor}.${name}.permit names ${shown(permit)}, an actor; only a person can decide`,
          ]
        : [],
    ),
  );
}
