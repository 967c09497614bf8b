import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WebFlow } from '../../api/api.ts';
import { useKeys } from '../keys/use-keys.ts';
import { useNavigation } from '../route/navigation.ts';
import { pathOf } from '../route/route.ts';
import { pictureOf, type Arrow, type Bar, type Picture } from './layout.ts';
import { arrowKey, barKey, marksOf, type Mark, isConcluded, outcomeOf } from './marks.ts';
import { EDGE, type TimeSpan, placeOf, ticksOf } from './scale.ts';
import { TickLabel } from './tick-label.tsx';

interface Props {
  flow: WebFlow;
  span: TimeSpan;
  now: number;
  width: number;
  onWheel: (event: WheelEvent, share: number) => void;
}

const AXIS = 24;
const ARROWS: Readonly<Record<string, 1 | -1>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
};

/**
 * Picture of who did what and when: a lane for each name, bars for runs, arrows for messages. One mark is a tab stop,
 * and keys walk from it to the others.
 */
export function Timeline({ flow, span, now, width, onWheel }: Props): JSX.Element {
  const { go } = useNavigation();
  const { from, to } = span;
  const picture = useMemo(
    () => pictureOf(flow, { from, to }, width - EDGE, now),
    [flow, from, to, width, now],
  );
  const marks = useMemo(() => marksOf(picture, now), [picture, now]);
  const [pointed, setPointed] = useState<string | undefined>(undefined);
  const [focused, setFocused] = useState<string | undefined>(undefined);
  /** Whether a mark has the focus; the last one that had it stays the tab stop. */
  const [inside, setInside] = useState(false);
  const box = useRef<SVGSVGElement>(null);
  const shown = marks.find(({ key }) => key === (pointed ?? (inside ? focused : undefined)));
  const first = marks.find(({ key }) => key === focused)?.key ?? marks.at(-1)?.key;

  const elementOf = (key: string): SVGElement | undefined =>
    [...(box.current?.querySelectorAll<SVGElement>('[data-mark]') ?? [])].find(
      ({ dataset }) => dataset['mark'] === key,
    );
  const step = (by: 1 | -1): boolean => {
    const at = marks.findIndex(({ key }) => key === focused);
    const next = marks[at < 0 ? marks.length - 1 : at + by];
    if (next === undefined) return at >= 0;
    setPointed(undefined);
    setFocused(next.key);
    elementOf(next.key)?.focus();
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
      const { left, width: wide } = element?.getBoundingClientRect() ?? {
        left: 0,
        width: EDGE + 1,
      };
      wheel.current(event, Math.min(1, (event.clientX - left) / (wide - EDGE)));
    };
    element?.addEventListener('wheel', turned, { passive: false });
    return () => element?.removeEventListener('wheel', turned);
  }, []);

  const markAt = ({ target }: Event): Mark | undefined => {
    const key =
      target instanceof Element
        ? target.closest<SVGElement>('[data-mark]')?.dataset['mark']
        : undefined;
    return marks.find((one) => one.key === key);
  };
  // The shapes stay as they are while a pointer or the focus moves over them.
  const shapes = useMemo(() => {
    const byKey = new Map(marks.map((mark) => [mark.key, mark]));
    const around = (key: string, shape: JSX.Element): JSX.Element => {
      const mark = byKey.get(key);
      return (
        <a
          key={key}
          data-mark={key}
          tabindex={key === first ? 0 : -1}
          aria-label={mark === undefined ? '' : `${mark.words}. ${mark.more}`}
          href={mark === undefined ? '#' : addressOf(mark)}
        >
          {shape}
        </a>
      );
    };
    return [
      ...picture.bars.map((bar) => around(barKey(bar), <BarShape bar={bar} />)),
      ...picture.arrows.map((arrow) => around(arrowKey(arrow), <ArrowShape arrow={arrow} />)),
    ];
  }, [picture, marks, first]);
  const grid = useMemo(
    () => <Grid picture={picture} span={{ from, to }} width={width} />,
    [picture, from, to, width],
  );
  return (
    <div class="timeline">
      <ul class="plain lanes" aria-label="Lanes">
        {picture.lanes.map(({ name, hosts, height }) => (
          <li key={name} style={{ height: `${String(height)}px` }}>
            <bdi class="who">{name}</bdi>
            <span class="dim">{hosts.join(', ')}</span>
          </li>
        ))}
        {picture.others > 0 && <li class="dim">and {picture.others} more names</li>}
      </ul>
      <div class="drawing">
        <svg
          ref={box}
          width={width}
          height={picture.height + AXIS}
          role="group"
          aria-label="Timeline: j and k or the arrow keys go through runs and messages, Enter opens one"
          onMouseOver={(event) => {
            setPointed(markAt(event)?.key);
          }}
          onMouseLeave={() => {
            setPointed(undefined);
          }}
          onFocusIn={(event) => {
            setInside(true);
            setFocused(markAt(event)?.key ?? focused);
          }}
          onFocusOut={() => {
            setInside(false);
          }}
          onKeyDown={(event) => {
            const by = ARROWS[event.key];
            const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
            if (by !== undefined && isPlain && step(by)) event.preventDefault();
          }}
          onClick={(event) => {
            const mark = markAt(event);
            if (mark?.relPath === undefined || event.ctrlKey || event.metaKey) return;
            event.preventDefault();
            go({ view: 'message', channel: mark.channel, relPath: mark.relPath });
          }}
        >
          {grid}
          {shapes}
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

const TICK_APART = 90;

/** The lanes and the times below them. */
function Grid(props: { picture: Picture; span: TimeSpan; width: number }): JSX.Element {
  const { picture, span, width } = props;
  const inner = width - EDGE;
  const ticks = ticksOf(span, inner, TICK_APART, new Date(span.to).getTimezoneOffset());
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
      {ticks.map((at) => {
        const x = Math.round(placeOf(at, span, inner));
        return (
          <g key={at}>
            <line class="tick" x1={x} x2={x} y2={picture.height + 6} />
            <TickLabel at={at} span={span} width={inner} y={picture.height + 18} />
          </g>
        );
      })}
    </g>
  );
}

/** The signs beside a bar, so that colour is not the only difference; from its end and its middle. */
const SIGNS: Partial<Record<ReturnType<typeof outcomeOf>, [right: number, path: string]>> = {
  failed: [3, '-4l8 8m0-8l-8 8'],
  parked: [4, '-4v8m5-8v8'],
  cancelled: [2, '0h7'],
  running: [2, '-5l6 5-6 5'],
  stopped: [2, '-5l3 4-3 2 3 4'],
};

/** A run, or several. Every outcome has its own shape besides its colour. */
function BarShape({ bar }: { bar: Bar }): JSX.Element {
  const { runs, x, y, width, height } = bar;
  const middle = y + height / 2;
  const outcome = outcomeOf(bar);
  const sign = SIGNS[outcome];
  const several = runs.length > 1;
  // The duration of the run itself is not known, so the bar is only a line up to its end.
  const concluded = isConcluded(bar);
  const thin = concluded && !several;
  return (
    <g class={`bar ${outcome}${concluded ? ' concluded' : ''}${several ? ' several' : ''}`}>
      {thin ? (
        <>
          <rect class="wait" x={x} y={middle - 1.5} width={width} height={3} />
          <rect x={x + width - 5} y={y} width={5} height={height} rx={2} />
        </>
      ) : (
        <rect x={x} y={y} width={width} height={height} rx={3} />
      )}
      {sign !== undefined && (
        <path class="sign" d={`M${String(x + width + sign[0])} ${String(middle)}m0 ${sign[1]}`} />
      )}
      {several && width >= 8 + 6 * String(runs.length).length && (
        <text class="count" x={x + 3} y={middle + 4}>
          {runs.length}
        </text>
      )}
    </g>
  );
}

/** A message, or several, which make a broader arrow. */
function ArrowShape({ arrow }: { arrow: Arrow }): JSX.Element {
  const { x1, y1, x2, y2, messages } = arrow;
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const line = `M${String(x1)} ${String(y1)}L${String(x2)} ${String(y2)}`;
  const broad = Math.min(6, 1.4 + 0.6 * Math.log2(messages.length));
  return (
    <g class={`arrow ${messages[0].re.length > 0 ? 'answer' : 'question'}`}>
      <path class="reach" d={line} />
      <path class="line" d={line} {...(messages.length > 1 && { 'stroke-width': broad })} />
      <path
        class="head"
        d="M0 0L-8 -4L-8 4Z"
        transform={`translate(${String(x2)} ${String(y2)}) rotate(${String(angle)})`}
      />
      <circle cx={x1} cy={y1} r={3} class="head" />
    </g>
  );
}
