import type { JSX } from 'preact';
import type { Arrow, Bar, Picture } from './layout.ts';
import { isConcluded, outcomeOf } from './marks.ts';
import { EDGE, placeOf, ticksOf, type TimeSpan } from './scale.ts';
import { TickLabel } from './tick-label.tsx';

const TICK_APART = 90;

/** The lanes and the times below them. */
export function Grid(props: { picture: Picture; span: TimeSpan; width: number }): JSX.Element {
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
export function BarShape({ bar }: { bar: Bar }): JSX.Element {
  const { runs, x, y, width, height } = bar;
  const middle = y + height / 2;
  const outcome = outcomeOf(bar);
  const sign = SIGNS[outcome];
  const several = runs.length > 1;
  // How long the run itself took is not known, so the bar is only a line up to its end.
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
export function ArrowShape({ arrow }: { arrow: Arrow }): JSX.Element {
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
