import type { JSX } from 'preact';
import { placeOf, type TimeSpan } from './scale.ts';
import { clockOf, dayOf } from '../../present/times.ts';

interface Props {
  at: number;
  span: TimeSpan;
  /** Pixels of the period. */
  width: number;
  y: number;
}

/** Half the width of a label, in pixels. */
const HALF = 20;

/** The time below a tick: the day in a long period, and the time of day in a short one. */
export function TickLabel({ at, span, width, y }: Props): JSX.Element {
  const x = placeOf(at, span, width);
  const isLong = span.to - span.from > 36 * 3_600_000;
  return (
    <text class="tick-label" x={Math.max(HALF, x)} y={y} text-anchor="middle">
      {isLong ? dayOf(at).replace(/,? \d{4}$/, '') : clockOf(at)}
    </text>
  );
}
