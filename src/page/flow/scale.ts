/** A period, in milliseconds since 1970. */
export interface TimeSpan {
  from: number;
  to: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SHORTEST = 10_000;
export const LONGEST = 7 * 24 * HOUR;

/** Pixels to the right of a period, so that current marks are not cut off. */
export const EDGE = 24;

const STEPS = [
  1000,
  5000,
  10_000,
  30_000,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
  48 * HOUR,
  96 * HOUR,
];

/** Returns the position of a time in a picture, in pixels from its left edge. */
export function placeOf(at: number, { from, to }: TimeSpan, width: number): number {
  return ((at - from) / (to - from)) * width;
}

/** Returns the next multiple of `step` that is not before a time; both in milliseconds. */
export function steppedUp(at: number, step: number): number {
  return Math.ceil(at / step) * step;
}

/**
 * Returns the middle of the part of an hour that a period contains, in pixels from the left edge; undefined if it
 * contains nothing of it.
 *
 * @param hour its start, in milliseconds
 */
export function middleOfHour(hour: number, span: TimeSpan, width: number): number | undefined {
  const [from, to] = [Math.max(hour, span.from), Math.min(hour + HOUR, span.to)];
  return from > to ? undefined : placeOf((from + to) / 2, span, width);
}

/**
 * Zooms out (`factor` > 1) or in; the time `around` keeps its position.
 *
 * @param now nothing later than this is shown
 */
export function zoomed(
  { from, to }: TimeSpan,
  factor: number,
  around: number,
  now: number,
): TimeSpan {
  const length = lengthOf((to - from) * factor);
  const share = (around - from) / (to - from);
  return withinPast({ from: around - share * length, to: around + (1 - share) * length }, now);
}

/** Returns the nearest length that a period may have, in milliseconds. */
export function lengthOf(wanted: number): number {
  return Math.min(LONGEST, Math.max(SHORTEST, wanted));
}

/** Moves the period by a share of its length; negative is earlier. */
export function moved({ from, to }: TimeSpan, share: number, now: number): TimeSpan {
  const by = (to - from) * share;
  return withinPast({ from: from + by, to: to + by }, now);
}

function withinPast({ from, to }: TimeSpan, now: number): TimeSpan {
  const over = Math.max(0, to - now);
  return { from: from - over, to: to - over };
}

/**
 * Round times in a period, about one for every `apart` pixels; for the time zone with this `offset`
 * in minutes.
 */
export function ticksOf(
  { from, to }: TimeSpan,
  width: number,
  apart: number,
  offset: number,
): number[] {
  const wanted = ((to - from) / Math.max(1, width)) * apart;
  const step = STEPS.find((one) => one >= wanted) ?? 192 * HOUR;
  const shift = offset * MINUTE;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step)
    ticks.push(at);
  return ticks;
}
