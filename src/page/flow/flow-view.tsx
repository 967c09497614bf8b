import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { WebFlow, WebSchedule, WebSchedules } from '../../api/api.ts';
import { useKeys } from '../keys/use-keys.ts';
import { get } from '../live/api.ts';
import { useClock, useLoaded } from '../live/use-live.ts';
import { Problem, View } from '../parts/view.tsx';
import { useNavigation } from '../route/navigation.ts';
import { AnswerTimes, Backlog } from './plots.tsx';
import { lengthOf, LONGEST, moved, steppedUp, zoomed, type TimeSpan } from './scale.ts';
import { SubscriptionLanes } from './subscriptions.tsx';
import { Timeline } from './timeline.tsx';
import { Link } from '../route/link.tsx';
import { OriginLanes } from './origin-lanes.tsx';

const HOUR = 3_600_000;
const LENGTHS: readonly [words: string, ms: number][] = [
  ['10 min', HOUR / 6],
  ['1 h', HOUR],
  ['6 h', 6 * HOUR],
  ['24 h', 24 * HOUR],
  ['7 d', LONGEST],
];
/** Milliseconds between updates of a picture that ends now. */
const STEP_MS = 2000;
const ZOOM = 1.5;

const USUAL = 6 * HOUR;

interface Props {
  /** Initial period, as in the address: in seconds, and an ISO time unless it ends now. */
  length?: number;
  until?: string;
}

/** A picture of the last hours. */
export function FlowView(first: Props): JSX.Element {
  const clock = useClock(STEP_MS);
  const { go } = useNavigation();
  const [length, setLength] = useState(() =>
    lengthOf(first.length === undefined ? USUAL : 1000 * first.length),
  );
  /** The time at which the picture ends; undefined for the current time. */
  const [until, setUntil] = useState<number | undefined>(() => {
    const end = Date.parse(first.until ?? '');
    return end < Date.now() ? end : undefined;
  });
  // A period that ends now is drawn again only when it has moved by a pixel.
  const moment = steppedUp(clock, Math.max(STEP_MS, length / 1000));
  const to = until ?? moment;
  const span: TimeSpan = { from: to - length, to };
  const look = (next: TimeSpan): void => {
    setLength(next.to - next.from);
    setUntil(next.to >= Date.now() - STEP_MS ? undefined : next.to);
  };
  const zoom = (factor: number, share = 1): void => {
    look(zoomed(span, factor, span.from + share * (span.to - span.from), Date.now()));
  };
  const move = (share: number): void => {
    look(moved(span, share, Date.now()));
  };
  const asked = useRested({ length: Math.round(length), until }, 200);
  // The address has the period, so that it can be sent to others and the way back leads to it.
  useEffect(() => {
    const seconds = Math.round(asked.length / 1000);
    go(
      {
        view: 'flow',
        ...(seconds * 1000 !== USUAL && { length: seconds }),
        ...(asked.until !== undefined && { until: new Date(asked.until).toISOString() }),
      },
      'replace',
    );
  }, [asked.length, asked.until]);
  const { value, problem } = useLoaded<WebFlow>(
    `${String(asked.length)} ${String(asked.until ?? 'now')}`,
    (signal) => {
      const end = asked.until ?? Date.now();
      // Request a little more on both sides, for readers who move the picture.
      const from = new Date(end - 1.25 * asked.length).toISOString();
      return get<WebFlow>(
        'flow',
        { from, ...(asked.until !== undefined && { to: new Date(end).toISOString() }) },
        signal,
      );
    },
    ['reset', 'messages', 'runs', 'dead_letters'],
  );
  const last = useRef<WebFlow | undefined>(undefined);
  last.current = value ?? last.current;
  const flow = last.current;

  useKeys('flow', (action) => {
    if (action === 'zoom-in') zoom(1 / ZOOM);
    else if (action === 'zoom-out') zoom(ZOOM);
    else if (action === 'earlier') move(-0.25);
    else if (action === 'later') move(0.25);
    else return false;
    return true;
  });
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  return (
    <View title="Flow" class="flow" beside={<Legend />}>
      <div class="controls" role="toolbar" aria-label="Time shown">
        <button
          type="button"
          aria-label="Earlier"
          onClick={() => {
            move(-0.5);
          }}
        >
          ←
        </button>
        <button
          type="button"
          aria-label="Later"
          onClick={() => {
            move(0.5);
          }}
          disabled={until === undefined}
        >
          →
        </button>
        <button
          type="button"
          aria-label="Zoom in"
          onClick={() => {
            zoom(1 / ZOOM);
          }}
        >
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          onClick={() => {
            zoom(ZOOM);
          }}
        >
          −
        </button>
        {LENGTHS.map(([words, ms]) => (
          <button
            key={words}
            type="button"
            aria-pressed={Math.abs(length - ms) < 1}
            onClick={() => {
              setLength(ms);
            }}
          >
            {words}
          </button>
        ))}
        <button
          type="button"
          aria-pressed={until === undefined}
          onClick={() => {
            setUntil(undefined);
          }}
        >
          Now
        </button>
      </div>
      <Problem words={problem} />
      <div class="picture" ref={box} tabIndex={-1}>
        {flow !== undefined && width > 0 && (
          <Timeline
            flow={flow}
            span={span}
            now={moment}
            width={width}
            onWheel={(event, share) => {
              // Without a modifier the wheel scrolls the page; a pinch comes as a wheel with Ctrl.
              if (event.deltaY === 0 || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, share);
            }}
          />
        )}
        {flow !== undefined && width > 0 && (
          <>
            <ScheduleLanes flow={flow} span={span} width={width} />
            <SubscriptionLanes flow={flow} span={span} width={width} />
          </>
        )}
        {flow?.lanes.length === 0 && <p class="dim">Nothing happened in this time.</p>}
      </div>
      {flow !== undefined && width > 0 && (
        <>
          <p class="dim partly">
            {flow.complete ? '' : 'Only the newest messages of this time are shown. '}
            What is near in time is drawn together; Ctrl and the wheel zoom in.
          </p>
          <div class="plots">
            <AnswerTimes flow={flow} span={span} width={width} />
            <Backlog flow={flow} span={span} width={width} />
          </div>
        </>
      )}
    </View>
  );
}

/** The requested picture: its length, and the time of its end unless it ends now. */
interface Asked {
  length: number;
  until: number | undefined;
}

/** Returns the requested picture once it has not changed for `ms` milliseconds. */
function useRested(wanted: Asked, ms: number): Asked {
  const [rested, setRested] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => {
      setRested(wanted);
    }, ms);
    return () => {
      clearTimeout(timer);
    };
  }, [wanted.length, wanted.until]);
  return rested;
}

/** The width of the column of lane names, in pixels; see flow.css. */
const NAMES = { wide: 144, narrow: 88 };

/** Returns the width of the drawing in pixels. */
function useWidth(box: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { clientWidth } = element;
      const names = matchMedia('(width < 48rem)').matches ? NAMES.narrow : NAMES.wide;
      setWidth(Math.max(100, clientWidth - names));
    };
    measure();
    const changed = new ResizeObserver(measure);
    changed.observe(element);
    return () => {
      changed.disconnect();
    };
  }, []);
  return width;
}

/** Legend of the marks of the picture. */
function Legend(): JSX.Element {
  return (
    <p class="legend dim" aria-label="Legend">
      <span class="key question">question</span>
      <span class="key answer">answer</span>
      <span class="key answered">answered</span>
      <span class="key running">running ›</span>
      <span class="key failed">failed ✕</span>
      <span class="key parked">parked ‖</span>
      <span class="key cancelled">cancelled –</span>
      <span class="key stopped">cut off</span>
      <span class="key concluded">answered elsewhere, with the wait for it</span>
      <span class="key silent">silent</span>
      <Link to={{ view: 'cost' }}>What it costs</Link>
    </p>
  );
}

/**
 * Lane for each schedule, with its messages, above which the time of the picture stands. Nothing is shown where there
 * is no schedule.
 */
function ScheduleLanes(props: {
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

/** Returns a time to come by the clock of the reader: without its day where that is today. */
function shortTime(time: string): string {
  const at = new Date(time);
  const clock = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday
    ? clock
    : `${at.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${clock}`;
}
