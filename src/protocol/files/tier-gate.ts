import { EVERYONE } from '../address.ts';
import { isName } from '../names.ts';
import { shown } from '../text/result.ts';
import { MAX_MS, parseDuration } from '../text/times.ts';

/** Whether a person decides before a run of a tier does anything (work.md, "A person in the loop"). */
export interface TierGate {
  /** Who approves each plan: a name, or {@link ASKER}; absent where nobody has to. */
  gate?: string;
  /** The command line that plans, for a CLI of which no planning mode is known. */
  gatePlan?: string;
}

/** The options of a gate, as the host file calls them. */
export const GATE_OPTIONS: readonly string[] = ['gate', 'gate_plan'];

/** Stands for whoever began the thread. */
export const ASKER = 'asker';

/** Whether a value can name who decides: a name of one person, or {@link ASKER}. */
function isApprover(value: unknown): value is string {
  return isName(value) && value !== EVERYONE;
}

/** Reads the gate of a tier; what cannot be one is added to the problems. */
export function tierGate(
  where: string,
  { gate, gate_plan: plan }: Record<string, unknown>,
  problems: string[],
): TierGate {
  if (gate === undefined) {
    if (plan !== undefined) problems.push(`${where}.gate_plan has no effect without ${where}.gate`);
    return {};
  }
  if (!isApprover(gate))
    problems.push(
      `${where}.gate is ${shown(gate)}, expected ${ASKER}, or the name of who approves`,
    );
  const isCommand = typeof plan === 'string' && plan.trim() !== '';
  if (plan !== undefined && !isCommand)
    problems.push(`${where}.gate_plan is ${shown(plan)}, expected a command line that plans`);
  return {
    ...(isApprover(gate) && { gate }),
    ...(isCommand && { gatePlan: plan }),
  };
}

/**
 * Says which tiers with a gate hand mail on to one without: what nobody has approved there must not run
 * elsewhere.
 */
export function ungatedFallbacks(
  actor: string,
  tiers: readonly ({ name: string; fallback?: readonly string[] } & TierGate)[],
): string[] {
  const open = new Set(tiers.filter(({ gate }) => gate === undefined).map(({ name }) => name));
  return tiers.flatMap(({ name, gate, fallback = [] }) =>
    gate === undefined
      ? []
      : fallback
          .filter((one) => open.has(one))
          .map(
            (one) =>
              `actors.${actor}.${name}.fallback names ${shown(one)}, which has no gate; give it one too`,
          ),
  );
}

/** Says which tiers let an actor of the same file decide, which can't. */
export function actorsAsGates(
  actors: ReadonlyMap<string, readonly ({ name: string } & TierGate)[]>,
): string[] {
  return [...actors].flatMap(([actor, tiers]) =>
    tiers.flatMap(({ name, gate }) =>
      gate !== undefined && actors.has(gate)
        ? [`actors.${actor}.${name}.gate names ${shown(gate)}, an actor; only a person can approve`]
        : [],
    ),
  );
}

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
