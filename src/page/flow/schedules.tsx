import type { JSX } from 'preact';
import type { WebArrow, WebFlow, WebSchedule, WebSchedules } from '../../api/api.ts';
import { get } from '../live/api.ts';
import { useLoaded } from '../live/use-live.ts';
import { useNavigation } from '../route/navigation.ts';
import { pathOf } from '../route/route.ts';
import { EDGE, placeOf, type TimeSpan } from './scale.ts';

const HEIGHT = 36;
/** The most lanes: whoever can push can add schedules. */
const MOST = 30;
/** Pixels within which occurrences are drawn as one. */
const TOGETHER = 4;

/**
 * A lane for each schedule, with what it has sent, above which the time of the picture stands. Nothing
 * is shown where there is no schedule.
 */
export function ScheduleLanes(props: {
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}): JSX.Element | null {
  const { flow, span, width } = props;
  const { value } = useLoaded<WebSchedules>(
    'schedules',
    (signal) => get<WebSchedules>('schedules', {}, signal),
    ['reset', 'messages'],
  );
  const schedules = value?.schedules ?? [];
  if (schedules.length === 0) return null;
  const shown = schedules.slice(0, MOST);
  const more = schedules.length - shown.length;
  return (
    <section class="schedules" aria-label="Schedules">
      <div class="timeline">
        <ul class="plain lanes" aria-label="Schedules">
          {shown.map((one) => (
            <li key={one.path} style={{ height: `${String(HEIGHT)}px` }} title={titleOf(one)}>
              <bdi class="who">{one.name}</bdi>
              <span class={one.problems.length > 0 ? 'bad dim' : 'dim'}>{stateOf(one)}</span>
            </li>
          ))}
          {more > 0 && <li class="dim">and {more} more schedules</li>}
        </ul>
        <div class="drawing">
          <svg
            width={width}
            height={shown.length * HEIGHT}
            role="group"
            aria-label="What schedules have sent"
          >
            {shown.map(({ name }, index) => (
              <Lane
                key={name}
                name={name}
                top={index * HEIGHT}
                isEven={index % 2 === 0}
                {...{ flow, span, width }}
              />
            ))}
          </svg>
        </div>
      </div>
    </section>
  );
}

interface LaneProps {
  name: string;
  top: number;
  isEven: boolean;
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}

function Lane({ name, top, isEven, flow, span, width }: LaneProps): JSX.Element {
  const { go } = useNavigation();
  const fired = flow.messages.filter(({ schedule }) => schedule === name);
  return (
    <>
      <rect class={`lane${isEven ? ' even' : ''}`} y={top} width={width} height={HEIGHT} />
      {apart(fired, span, width).map(({ message, x, count }) => {
        const { channel, relPath } = message;
        const view = { view: 'message', channel, relPath } as const;
        return (
          <a
            key={relPath}
            href={pathOf(view)}
            aria-label={`${name} sent ${count > 1 ? `${String(count)} messages until` : 'a message'} ${message.timestamp}`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey) return;
              event.preventDefault();
              go(view);
            }}
          >
            <circle class="fired" cx={x} cy={top + HEIGHT / 2} r={count > 1 ? 6 : 4} />
          </a>
        );
      })}
    </>
  );
}

/** What was sent within a period, with its place; what would be drawn on one spot is put together. */
function apart(
  fired: readonly WebArrow[],
  span: TimeSpan,
  width: number,
): { message: WebArrow; x: number; count: number }[] {
  const spots: { message: WebArrow; x: number; count: number }[] = [];
  for (const message of fired) {
    const at = Date.parse(message.timestamp);
    if (at < span.from || at > span.to) continue;
    const x = placeOf(at, span, width - EDGE);
    const last = spots.at(-1);
    if (last !== undefined && x - last.x < TOGETHER)
      Object.assign(last, { message, count: last.count + 1 });
    else spots.push({ message, x, count: 1 });
  }
  return spots;
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
