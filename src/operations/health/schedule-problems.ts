import type { Heartbeat } from '../../state/heartbeat.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { act, type Finding } from './finding.ts';

/** The most of them that are named, so that a flood cannot hide other problems. */
const NAMED = 5;

/** Schedules of this machine that cannot be followed as they stand. */
export function scheduleProblems(dispatcher: Pick<Heartbeat, 'schedules'> | null): Finding[] {
  const all = dispatcher?.schedules ?? [];
  const lines = all
    .slice(0, NAMED)
    .map(({ schedule, problem }) =>
      act(
        `${schedule === '' ? '' : `schedule ${escapeInvisible(schedule)}: `}${problem}; see: crosstalk schedule list`,
        'crosstalk schedule list',
      ),
    );
  const more = all.length - lines.length;
  const rest = `and ${String(more)} more schedules; see: crosstalk schedule list`;
  return more > 0 ? [...lines, act(rest, 'crosstalk schedule list')] : lines;
}
