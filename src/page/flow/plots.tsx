import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebFlow } from '../../api/api.ts';
import { EDGE, middleOfHour, placeOf, ticksOf, type TimeSpan } from './scale.ts';
import { TickLabel } from './tick-label.tsx';
import { ageOf, clockOf, dayOf } from '../../present/times.ts';

const HOUR = 3_600_000;
const HEIGHT = 120;
const AXIS = 22;
const TOP = 14;
/** The least width of a bar of the backlog, in pixels. */
const NARROWEST = 8;

interface Props {
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}

/** The time to an answer per hour: a dot for the median, and a whisker up to the 90th percentile. */
export function AnswerTimes({ flow, span, width }: Props): JSX.Element {
  // An hour without answers has no time to an answer, which is a gap and not a time of 0.
  const hours = flow.answer_times.filter(({ answers }) => answers > 0);
  const inner = width - EDGE;
  // Hours that are near one another have smaller signs.
  const size = Math.min(1, Math.max(0.35, placeOf(span.from + HOUR, span, inner) / 12));
  const most = Math.max(1, ...hours.map(({ p90_s: slow }) => slow));
  const yOf = (seconds: number): number => TOP + (1 - seconds / most) * (HEIGHT - TOP);
  return (
    <Plot
      title="Answer times by hour"
      top={ageOf(most)}
      span={span}
      width={width}
      head={['hour', 'answers', 'median', '90 % within']}
      rows={flow.answer_times.map(({ hour, answers, median_s: median, p90_s: slow }) => [
        hourOf(hour),
        String(answers),
        answers === 0 ? '–' : ageOf(median),
        answers === 0 ? '–' : ageOf(slow),
      ])}
    >
      {hours.map(({ hour, median_s: median, p90_s: slow }) => {
        const x = middleOfHour(Date.parse(hour), span, inner);
        if (x === undefined) return null;
        return (
          <g key={hour} class="times">
            <line x1={x} x2={x} y1={yOf(slow)} y2={yOf(median)} />
            <line x1={x - 5 * size} x2={x + 5 * size} y1={yOf(slow)} y2={yOf(slow)} />
            <circle cx={x} cy={yOf(median)} r={4.5 * size} />
          </g>
        );
      })}
    </Plot>
  );
}

/** The number of messages that waited at the end of each hour. */
export function Backlog({ flow, span, width }: Props): JSX.Element {
  const inner = width - EDGE;
  const per = Math.max(1, Math.ceil(NARROWEST / placeOf(span.from + HOUR, span, inner)));
  const bars = highestIn(flow.backlog, per);
  const most = Math.max(1, ...bars.map(({ waiting }) => waiting));
  return (
    <Plot
      title={`Waiting at the end of each hour${per > 1 ? `, the most in ${String(per)} h` : ''}`}
      top={String(most)}
      span={span}
      width={width}
      head={['hour', 'waiting']}
      rows={flow.backlog.map(({ hour, waiting }) => [hourOf(hour), String(waiting)])}
    >
      {bars.map(({ hour, waiting }) => {
        const x = Math.max(0, placeOf(hour, span, inner));
        const end = Math.min(inner, placeOf(hour + per * HOUR, span, inner));
        const height = (waiting / most) * (HEIGHT - TOP);
        return (
          <rect
            key={hour}
            class="backlog"
            x={x + 1}
            y={HEIGHT - height}
            width={Math.max(1, end - x - 2)}
            height={height}
          />
        );
      })}
    </Plot>
  );
}

/** Returns the highest backlog in each `per` hours, which start at `hour`, in milliseconds. */
function highestIn(backlog: WebFlow['backlog'], per: number): { hour: number; waiting: number }[] {
  const highest = new Map<number, number>();
  for (const { hour, waiting } of backlog) {
    const first = Math.floor(Date.parse(hour) / (per * HOUR)) * per * HOUR;
    highest.set(first, Math.max(waiting, highest.get(first) ?? 0));
  }
  return [...highest].map(([hour, waiting]) => ({ hour, waiting }));
}

interface PlotProps {
  title: string;
  /** The value of the highest line. */
  top: string;
  span: TimeSpan;
  width: number;
  head: readonly string[];
  rows: readonly (readonly string[])[];
  children?: ComponentChildren;
}

/** A plot, and the same data as a table for people who cannot see it. */
function Plot({ title, top, span, width, head, rows, children }: PlotProps): JSX.Element {
  // A closed table of a week would have hundreds of rows that nobody sees.
  const [open, setOpen] = useState(false);
  const ticks = ticksOf(span, width - EDGE, 90, new Date(span.to).getTimezoneOffset());
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <svg width={width} height={HEIGHT + AXIS} aria-hidden="true">
        <line class="tick" x2={width} y1={TOP} y2={TOP} />
        <line class="base" x2={width} y1={HEIGHT} y2={HEIGHT} />
        {children}
        <text class="tick-label" x={2} y={TOP - 3}>
          {top}
        </text>
        {ticks.map((at) => (
          <TickLabel key={at} at={at} span={span} width={width - EDGE} y={HEIGHT + 16} />
        ))}
      </svg>
      <details
        onToggle={(event) => {
          setOpen(event.currentTarget.open);
        }}
      >
        <summary>In numbers</summary>
        {open && (
          <table>
            <thead>
              <tr>
                {head.map((cell) => (
                  <th key={cell} scope="col">
                    {cell}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row[0]}>
                  {row.map((cell, at) => (
                    <td key={head[at]}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </details>
    </figure>
  );
}

function hourOf(hour: string): string {
  return `${dayOf(hour)} ${clockOf(hour)}`;
}
