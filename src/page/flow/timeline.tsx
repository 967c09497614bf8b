import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WebFlow } from '../../api/api.ts';
import { useKeys } from '../keys/use-keys.ts';
import { useNavigation } from '../route/navigation.ts';
import { pathOf } from '../route/route.ts';
import { clockOf, dayOf } from '../text/time.ts';
import { pictureOf, type Arrow, type Bar } from './layout.ts';
import { arrowKey, barKey, marksOf, type Mark } from './marks.ts';
import { placeOf, ticksOf, type TimeSpan } from './scale.ts';

interface Props {
  flow: WebFlow;
  span: TimeSpan;
  now: number;
  width: number;
  onWheel: (event: WheelEvent, share: number) => void;
}

const AXIS = 24;
const TICK_APART = 90;

/** Shows who did what and when: a lane for each name, bars for runs, arrows for messages. */
export function Timeline({ flow, span, now, width, onWheel }: Props): JSX.Element {
  const { go } = useNavigation();
  const picture = useMemo(() => pictureOf(flow, span, width, now), [flow, span, width, now]);
  const marks = useMemo(() => marksOf(picture, now), [picture, now]);
  const [pointed, setPointed] = useState<string | undefined>(undefined);
  const [focused, setFocused] = useState<string | undefined>(undefined);
  const box = useRef<SVGSVGElement>(null);
  const shown = marks.find(({ key }) => key === (pointed ?? focused));
  const first = marks.find(({ key }) => key === focused)?.key ?? marks.at(-1)?.key;

  const step = (by: 1 | -1): boolean => {
    const at = marks.findIndex(({ key }) => key === focused);
    const next = marks[at < 0 ? marks.length - 1 : at + by];
    if (next === undefined) return false;
    setFocused(next.key);
    const elements = box.current?.querySelectorAll<SVGElement>('[data-mark]') ?? [];
    [...elements].find(({ dataset }) => dataset['mark'] === next.key)?.focus();
    return true;
  };
  useKeys('flow', (action) => {
    if (action === 'next') return step(1);
    return action === 'previous' ? step(-1) : false;
  });
  // A listener that may prevent scrolling has to declare that when it is added.
  const wheel = useRef(onWheel);
  wheel.current = onWheel;
  useEffect(() => {
    const element = box.current;
    const turned = (event: WheelEvent): void => {
      const { left, width: wide } = element?.getBoundingClientRect() ?? { left: 0, width: 1 };
      wheel.current(event, (event.clientX - left) / wide);
    };
    element?.addEventListener('wheel', turned, { passive: false });
    return () => element?.removeEventListener('wheel', turned);
  }, []);

  const markProps = (key: string) => {
    const mark = marks.find((one) => one.key === key);
    return {
      'data-mark': key,
      tabIndex: key === first ? 0 : -1,
      'aria-label': mark === undefined ? '' : `${mark.words}. ${mark.more}`,
      href: mark === undefined ? '#' : addressOf(mark),
      onMouseEnter: () => {
        setPointed(key);
      },
      onMouseLeave: () => {
        setPointed(undefined);
      },
      onFocus: () => {
        setFocused(key);
      },
      onClick: (event: MouseEvent) => {
        if (mark?.relPath === undefined || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        go({ view: 'message', channel: mark.channel, relPath: mark.relPath });
      },
    };
  };
  return (
    <div class="timeline">
      <ul class="plain lanes" aria-label="Lanes">
        {picture.lanes.map(({ name, hosts, height }) => (
          <li key={name} style={{ height: `${String(height)}px` }}>
            <bdi class="who">{name}</bdi>
            <span class="dim">{hosts.join(', ')}</span>
          </li>
        ))}
      </ul>
      <div class="drawing">
        <svg
          ref={box}
          width={width}
          height={picture.height + AXIS}
          role="group"
          aria-label="Timeline: j and k go through runs and messages, Enter opens one"
        >
          <Grid picture={picture} span={span} width={width} />
          {picture.bars.map((bar) => (
            <a key={barKey(bar)} {...markProps(barKey(bar))}>
              <BarShape bar={bar} />
            </a>
          ))}
          {picture.arrows.map((arrow) => (
            <a key={arrowKey(arrow)} {...markProps(arrowKey(arrow))}>
              <ArrowShape arrow={arrow} />
            </a>
          ))}
        </svg>
        {shown !== undefined && (
          <p class={`tip${shown.x > width / 2 ? ' left' : ''}`} style={tipPlace(shown, width)}>
            <strong>{shown.words}</strong>
            <br />
            {shown.more}
          </p>
        )}
      </div>
    </div>
  );
}

function tipPlace({ x, y }: Mark, width: number): Record<string, string> {
  const top = `${String(y + 8)}px`;
  const at = Math.min(width, Math.max(0, x));
  return x > width / 2
    ? { top, right: `${String(width - at)}px` }
    : { top, left: `${String(at)}px` };
}

function addressOf({ channel, relPath }: Mark): string {
  return relPath === undefined
    ? pathOf({ view: 'channel', channel })
    : pathOf({ view: 'message', channel, relPath });
}

function Grid(props: { picture: ReturnType<typeof pictureOf>; span: TimeSpan; width: number }) {
  const { picture, span, width } = props;
  const ticks = ticksOf(span, width, TICK_APART, new Date(span.to).getTimezoneOffset());
  const isLong = span.to - span.from > 36 * 3_600_000;
  return (
    <g aria-hidden="true">
      {picture.lanes.map(({ name, top, height }, index) => (
        <rect
          key={name}
          class={`lane${index % 2 === 0 ? ' even' : ''}`}
          y={top}
          width={width}
          height={height}
        />
      ))}
      {ticks.map((at) => (
        <g key={at} transform={`translate(${String(Math.round(placeOf(at, span, width)))} 0)`}>
          <line class="tick" y2={picture.height + 6} />
          <text class="tick-label" y={picture.height + 18} text-anchor="middle">
            {isLong ? dayOf(at).replace(/,? \d{4}$/, '') : clockOf(at)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Every outcome has its own shape besides its colour. */
function BarShape({ bar }: { bar: Bar }): JSX.Element {
  const { run, x, y, width, height } = bar;
  const middle = y + height / 2;
  return (
    <g class={`bar ${run.outcome}`}>
      <rect x={x} y={y} width={width} height={height} rx={3} />
      {run.outcome === 'failed' && (
        <path class="sign" d={`M${String(x + width + 3)} ${String(middle - 4)}l8 8m0-8l-8 8`} />
      )}
      {run.outcome === 'parked' && (
        <path class="sign" d={`M${String(x + width + 4)} ${String(middle - 4)}v8m5-8v8`} />
      )}
      {run.outcome === 'running' && (
        <path class="sign" d={`M${String(x + width + 2)} ${String(middle - 5)}l6 5-6 5`} />
      )}
    </g>
  );
}

function ArrowShape({ arrow }: { arrow: Arrow }): JSX.Element {
  const { x1, y1, x2, y2, message } = arrow;
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const line = `M${String(x1)} ${String(y1)}L${String(x2)} ${String(y2)}`;
  return (
    <g class={`arrow ${message.re.length > 0 ? 'answer' : 'question'}`}>
      <path class="reach" d={line} />
      <path class="line" d={line} />
      <path
        class="head"
        d="M0 0L-8 -4L-8 4Z"
        transform={`translate(${String(x2)} ${String(y2)}) rotate(${String(angle)})`}
      />
      <circle cx={x1} cy={y1} r={3} class="head" />
    </g>
  );
}
