import type { Heartbeat } from '../../state/heartbeat.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { act, type Finding } from './finding.ts';

/** The most of a kind that are named, so that a flood cannot hide other problems. */
const NAMED = 5;

/** Schedules and subscriptions of this machine that cannot be followed as they stand. */
export function automationProblems(
  dispatcher: Pick<Heartbeat, 'schedules' | 'subscriptions'> | null,
): Finding[] {
  const { schedules = [], subscriptions = [] } = dispatcher ?? {};
  return [
    ...linesOf(
      'schedule',
      schedules.map(({ schedule: name, problem }) => ({ name, problem })),
    ),
    ...linesOf(
      'subscription',
      subscriptions.map(({ subscription: name, problem }) => ({ name, problem })),
    ),
  ];
}

/** @param all with a name that is empty for what is about no single one */
function linesOf(
  kind: 'schedule' | 'subscription',
  all: readonly { name: string; problem: string }[],
): Finding[] {
  const see = `crosstalk ${kind} list`;
  const lines = all
    .slice(0, NAMED)
    .map(({ name, problem }) =>
      act(`${name === '' ? '' : `${kind} ${escapeInvisible(name)}: `}${problem}; see: ${see}`, see),
    );
  const more = all.length - lines.length;
  return more > 0 ? [...lines, act(`and ${String(more)} more ${kind}s; see: ${see}`, see)] : lines;
}
