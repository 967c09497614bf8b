import type { WebArrow, WebFlow, WebRun } from '../../api/api.ts';
import { placeOf, type TimeSpan } from './scale.ts';

/** A row of the picture, for a name that wrote, ran or was addressed. In pixels from its top edge. */
interface Lane {
  name: string;
  hosts: readonly string[];
  top: number;
  height: number;
}

/** A run, drawn as a bar. */
export interface Bar {
  run: WebRun;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A message, drawn as an arrow from one lane to another. */
export interface Arrow {
  message: WebArrow;
  /** The addressee in whose lane it ends. */
  to: string;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

export interface Picture {
  lanes: Lane[];
  bars: Bar[];
  arrows: Arrow[];
  height: number;
}

const BAR = 14;
const BETWEEN = 3;
const AROUND = 11;
/** The least width in pixels, so that a very short run is visible. */
const NARROWEST = 4;
/** Pixels that an arrow goes to the right when it is unknown when the message was received. */
const SLANT = 10;

/**
 * Computes the layout of what happened in a period.
 *
 * @param width pixels
 * @param now the end of runs that have not ended, in milliseconds
 */
export function pictureOf(flow: WebFlow, span: TimeSpan, width: number, now: number): Picture {
  const lanes: Lane[] = [];
  const bars: Bar[] = [];
  let top = 0;
  for (const { name, hosts } of flow.lanes) {
    const rows = inRows(
      flow.runs.filter((run) => run.actor === name),
      now,
    );
    const height = 2 * AROUND + Math.max(1, rows.length) * (BAR + BETWEEN) - BETWEEN;
    lanes.push({ name, hosts, top, height });
    for (const [row, runs] of rows.entries()) {
      const y = top + AROUND + row * (BAR + BETWEEN);
      for (const run of runs) bars.push({ run, y, height: BAR, ...extent(run, span, width, now) });
    }
    top += height;
  }
  const middle = new Map(lanes.map((lane) => [lane.name, lane.top + lane.height / 2]));
  const arrows = flow.messages.flatMap((message) => arrowsOf(message, flow, span, width, middle));
  return {
    lanes,
    bars: bars.filter(({ x, width: wide }) => x + wide >= 0 && x <= width),
    arrows: arrows.filter(({ x1, x2 }) => Math.max(x1, x2) >= 0 && Math.min(x1, x2) <= width),
    height: top,
  };
}

/** Puts runs that overlap into separate rows. */
function inRows(runs: readonly WebRun[], now: number): WebRun[][] {
  const rows: { runs: WebRun[]; until: number }[] = [];
  for (const run of runs.toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since))) {
    const since = Date.parse(run.since);
    const until = endOf(run, now);
    const row = rows.find((one) => one.until <= since);
    if (row === undefined) rows.push({ runs: [run], until });
    else {
      row.runs.push(run);
      row.until = until;
    }
  }
  return rows.map((row) => row.runs);
}

const endOf = ({ until }: WebRun, now: number): number =>
  until === null ? now : Date.parse(until);

function extent(
  run: WebRun,
  span: TimeSpan,
  width: number,
  now: number,
): { x: number; width: number } {
  const x = placeOf(Date.parse(run.since), span, width);
  const end = placeOf(endOf(run, now), span, width);
  // Cut what reaches far beyond the picture, because browsers limit coordinates.
  const from = Math.max(-20, x);
  return { x: from, width: Math.max(NARROWEST, Math.min(width + 20, end) - from) };
}

function arrowsOf(
  message: WebArrow,
  { runs }: WebFlow,
  span: TimeSpan,
  width: number,
  middle: ReadonlyMap<string, number>,
): Arrow[] {
  const y1 = middle.get(message.from);
  if (y1 === undefined) return [];
  const x1 = placeOf(Date.parse(message.timestamp), span, width);
  return message.to.flatMap((address) => {
    const to = address.split('@')[0] ?? '';
    const y2 = middle.get(to);
    if (y2 === undefined || to === message.from) return [];
    const taken = runs.find(
      (run) =>
        run.actor === to && run.known_from === 'observed' && run.messages.includes(message.relPath),
    );
    const x2 = taken === undefined ? x1 + SLANT : placeOf(Date.parse(taken.since), span, width);
    return [{ message, to, x1, y1, x2: Math.max(x1, x2), y2 }];
  });
}
