import type { JSX } from 'preact';
import type { WebFlow, WebSchedule, WebSchedules } from '../../api/api.ts';
import { get } from '../live/api.ts';
import { useLoaded } from '../live/use-live.ts';
import { OriginLanes } from './origin-lanes.tsx';
import type { TimeSpan } from './scale.ts';

/**
 * A lane for each schedule, with what it has sent, above which the time of the picture stands. Nothing
 * is shown where there is no schedule.
 */
export function ScheduleLanes(props: {
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}): JSX.Element | null {
  const { value } = useLoaded<WebSchedules>(
    'schedules',
    (signal) => get<WebSchedules>('schedules', {}, signal),
    ['reset', 'messages'],
  );
  const origins = (value?.schedules ?? []).map((one) => ({
    path: one.path,
    name: one.name,
    state: stateOf(one),
    isBad: one.problems.length > 0,
    title: titleOf(one),
  }));
  return <OriginLanes what="schedules" field="schedule" origins={origins} {...props} />;
}

function stateOf({ problems, enabled, next, outcome }: WebSchedule): string {
  if (problems.length > 0) return 'cannot be read';
  if (!enabled) return 'paused';
  const last = outcome === null || outcome === 'sent' ? '' : `, last ${outcome}`;
  return `${next === null ? 'no next time' : `next ${shortTime(next)}`}${last}`;
}

function titleOf({ problems, when, to, host }: WebSchedule): string {
  if (problems.length > 0) return problems.join('\n');
  return `${when ?? ''}, to ${to ?? ''}, by ${host ?? ''}`;
}

/** A time to come by the clock of the reader: without its day where that is today. */
function shortTime(time: string): string {
  const at = new Date(time);
  const clock = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday
    ? clock
    : `${at.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${clock}`;
}
