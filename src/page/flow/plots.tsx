import type { ComponentChildren, JSX } from 'preact';
import type { WebFlow } from '../../api/api.ts';
import { ageOf, clockOf, dayOf } from '../text/time.ts';
import { placeOf, ticksOf, type TimeSpan } from './scale.ts';

const HOUR = 3_600_000;
const HEIGHT = 120;
const AXIS = 22;
const TOP = 14;

interface Props {
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}

/** The time to an answer per hour: a dot for the median, and a whisker up to the 90th percentile. */
export function AnswerTimes({ flow, span, width }: Props): JSX.Element {
  const most = Math.max(1, ...flow.answer_times.map(({ p90_s: slow }) => slow));
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
        ageOf(median),
        ageOf(slow),
      ])}
    >
      {flow.answer_times.map(({ hour, median_s: median, p90_s: slow }) => {
        const x = placeOf(Date.parse(hour) + HOUR / 2, span, width);
        return (
          <g key={hour} class="times">
            <line x1={x} x2={x} y1={yOf(slow)} y2={yOf(median)} />
            <line x1={x - 5} x2={x + 5} y1={yOf(slow)} y2={yOf(slow)} />
            <circle cx={x} cy={yOf(median)} r={4.5} />
          </g>
        );
      })}
    </Plot>
  );
}

/** The number of messages that waited at the end of each hour. */
export function Backlog({ flow, span, width }: Props): JSX.Element {
  const most = Math.max(1, ...flow.backlog.map(({ waiting }) => waiting));
  return (
    <Plot
      title="Waiting at the end of each hour"
      top={String(most)}
      span={span}
      width={width}
      head={['hour', 'waiting']}
      rows={flow.backlog.map(({ hour, waiting }) => [hourOf(hour), String(waiting)])}
    >
      {flow.backlog.map(({ hour, waiting }) => {
        const x = placeOf(Date.parse(hour), span, width);
        const end = placeOf(Date.parse(hour) + HOUR, span, width);
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
  const ticks = ticksOf(span, width, 90, new Date(span.to).getTimezoneOffset());
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
          <text
            key={at}
            class="tick-label"
            x={placeOf(at, span, width)}
            y={HEIGHT + 16}
            text-anchor="middle"
          >
            {clockOf(at)}
          </text>
        ))}
      </svg>
      <details>
        <summary>In numbers</summary>
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
      </details>
    </figure>
  );
}

function hourOf(hour: string): string {
  return `${dayOf(hour)} ${clockOf(hour)}`;
}
