import { EVERYONE } from '../address.ts';
import { isName } from '../layout.ts';
import { shown } from '../text/result.ts';
import { MAX_MS, parseDuration } from '../text/times.ts';

/** The approval that a run of a tier needs before it does anything (work.md, "A person in the loop"). */
export interface TierGate {
  /** Approver of each plan: a name, or {@link ASKER}; absent if no approval is needed. */
  gate?: string;
  /** The command line that plans, for a CLI without a known planning mode. */
  gatePlan?: string;
}

/** Names of the options of a gate in a host file. */
export const GATE_OPTIONS: readonly string[] = ['gate', 'gate_plan'];

/** Placeholder for the one who started the thread. */
export const ASKER = 'asker';

/** Whether a value can be an approver: the name of one person, or {@link ASKER}. */
function isApprover(value: unknown): value is string {
  return isName(value) && value !== EVERYONE;
}

/** Parses the gate of a tier; invalid values are added to the problems. */
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
 * Returns a problem for each tier with a gate whose fallback has none: a task that nobody has approved must
 * not run elsewhere.
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

/** Returns a problem for each tier whose approver is an actor of the same file, which can't approve. */
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

/** The permissions that a run asks a person for while it works (work.md, "A person in the loop"). */
export interface TierPermit {
  /** The person who is asked: a name, or {@link ASKER}; absent if the CLI decides by its flags. */
  permit?: string;
  /** Milliseconds after which a question counts as denied; {@link PERMIT_TIMEOUT} if absent. */
  permitTimeout?: number;
}

/** Names of these options in a host file. */
export const PERMIT_OPTIONS: readonly string[] = ['permit', 'permit_timeout'];

/** Default number of milliseconds for which a question waits. */
export const PERMIT_TIMEOUT = 600_000;
/** Longest wait in milliseconds. A run stays alive while its question waits, up to five times. */
const MOST_MS = Math.min(MAX_MS, 24 * 3_600_000);

/** Parses these options; invalid values are added to the problems. */
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

/** Returns a problem for each tier that asks an actor of the same file for permission, which can't give it. */
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
