import type { WebArrow, WebFlow, WebRun } from '../../api/api.ts';
import { placeOf, type TimeSpan } from './scale.ts';

/** A row of the picture, for a name that wrote, ran or was addressed. In pixels from its top edge. */
interface Lane {
  name: string;
  hosts: readonly string[];
  top: number;
  height: number;
}

/** One run, or several that are too near one another to be distinguished, drawn as a bar. */
export interface Bar {
  /** In the order of their starts. */
  runs: readonly [WebRun, ...WebRun[]];
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A message, or several in the same direction, drawn as an arrow from one lane to another. */
export interface Arrow {
  messages: readonly [WebArrow, ...WebArrow[]];
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
  /** Number of names without a lane, because there are too many. */
  others: number;
}

/**
 * Most bars and arrows of a picture: more are hatching to the eye, and slow to draw. Those near in time are drawn
 * together until there are no more than these.
 */
export const MOST_MARKS = 150;
/** Pixels for each mark of a narrow picture, which has fewer, and the fewest marks. */
const APART = 6;
const LEAST_MARKS = 40;
/** Most rows of overlapping bars in a lane, unless nothing makes them fewer. */
const MOST_ROWS = 6;
/** Most names that have a lane. */
export const MOST_LANES = 40;

const BAR = 14;
const BETWEEN = 3;
const AROUND = 11;
/** The least width in pixels, so that a very short run is visible. */
const NARROWEST = 4;
/** Pixels that an arrow goes to the right when it is unknown when the message was received. */
const SLANT = 10;
/** Pixels of time within which marks are drawn together; 0 for none. */
const WIDEST = 1024;
const CELLS = [0, 24, 48, 96, 192, 384, WIDEST];

/**
 * Computes the layout of the events of a period. The cost grows with the number of runs and messages, and the number
 * of marks is bounded.
 *
 * @param width pixels
 * @param now the end of runs that have not ended, in milliseconds
 */
export function pictureOf(flow: WebFlow, span: TimeSpan, width: number, now: number): Picture {
  const names = flow.lanes.slice(0, MOST_LANES);
  const bars = placedRuns(flow, span, width, now);
  const arrows = placedMessages(flow, span, width);
  const most = Math.min(MOST_MARKS, Math.max(LEAST_MARKS, width / APART));
  const isClear = (one: number): boolean => {
    const groups = groupedBars(bars, one);
    if (groups.length + groupedArrows(arrows, one).length > most) return false;
    return names.every(({ name }) => inRows(of(groups, name)).length <= MOST_ROWS);
  };
  // Where even the widest cells are too many, the newest are drawn.
  const pixel = (span.to - span.from) / width;
  const cell = pixel * (CELLS.find((one) => isClear(pixel * one)) ?? WIDEST);
  const drawn = groupedBars(bars, cell)
    .slice(-MOST_MARKS)
    .map((group) => withinCell(group, cell, span, width));
  const lanes: Lane[] = [];
  const placed: Bar[] = [];
  let top = 0;
  for (const { name, hosts } of names) {
    const rows = inRows(of(drawn, name));
    const height = 2 * AROUND + Math.max(1, rows.length) * (BAR + BETWEEN) - BETWEEN;
    lanes.push({ name, hosts, top, height });
    for (const [row, some] of rows.entries()) {
      const y = top + AROUND + row * (BAR + BETWEEN);
      for (const { runs, x, width: wide } of some)
        placed.push({ runs, x, width: wide, y, height: BAR });
    }
    top += height;
  }
  const middle = new Map(lanes.map((lane) => [lane.name, lane.top + lane.height / 2]));
  const among = groupedArrows(arrows, cell).flatMap(({ messages, to, x1, x2 }) => {
    const [y1, y2] = [middle.get(messages[0].from), middle.get(to)];
    return y1 === undefined || y2 === undefined ? [] : [{ messages, to, x1, y1, x2, y2 }];
  });
  return {
    lanes,
    bars: placed,
    arrows: among.slice(Math.max(0, among.length + placed.length - MOST_MARKS)),
    height: top,
    others: flow.lanes.length - names.length,
  };
}

/**
 * Ends a group that reaches a little into the next cell with its own cell, so that groups that follow one another are
 * in one row.
 */
function withinCell(group: BarGroup, cell: number, span: TimeSpan, width: number): BarGroup {
  const { runs, x, width: wide } = group;
  if (cell === 0) return group;
  const edge = (Math.floor(Date.parse(runs[0].since) / cell) + 1) * cell;
  const end = placeOf(edge, span, width) - 1;
  const over = x + wide - end;
  const isLittle = over > 0 && over < placeOf(span.from + cell, span, width) / 2;
  return isLittle ? { ...group, width: Math.max(1, end - x) } : group;
}

function of(groups: readonly BarGroup[], name: string): BarGroup[] {
  return groups.filter(({ runs: [run] }) => run.actor === name);
}

/** Puts bars that overlap into separate rows. */
function inRows<T extends { x: number; width: number }>(bars: readonly T[]): T[][] {
  const rows: { bars: T[]; until: number }[] = [];
  for (const bar of bars.toSorted((a, b) => a.x - b.x)) {
    const row = rows.find((one) => one.until <= bar.x);
    const until = bar.x + bar.width;
    if (row === undefined) rows.push({ bars: [bar], until });
    else {
      row.bars.push(bar);
      row.until = until;
    }
  }
  return rows.map((row) => row.bars);
}

function placedRuns({ runs }: WebFlow, span: TimeSpan, width: number, now: number): PlacedRun[] {
  return runs
    .map((run) => {
      const at = Date.parse(run.since);
      const x = placeOf(at, span, width);
      const end = placeOf(run.until === null ? now : Date.parse(run.until), span, width);
      // Cuts marks that reach far beyond the picture, because browsers limit coordinates.
      const from = Math.max(-20, x);
      return {
        run,
        at,
        x: from,
        width: Math.max(NARROWEST, Math.min(width + 20, end) - from),
        end,
      };
    })
    .filter(({ x, end }) => end >= 0 && x <= width);
}

function placedMessages(
  { runs, messages }: WebFlow,
  span: TimeSpan,
  width: number,
): PlacedMessage[] {
  const taken = new Map<string, WebRun>();
  for (const run of runs)
    if (run.known_from === 'observed')
      for (const relPath of run.messages) {
        const key = `${run.actor} ${relPath}`;
        if (!taken.has(key)) taken.set(key, run);
      }
  return messages.flatMap((message) => {
    const at = Date.parse(message.timestamp);
    const x1 = placeOf(at, span, width);
    return message.to.flatMap((address) => {
      const to = address.split('@')[0] ?? '';
      if (to === message.from) return [];
      const run = taken.get(`${to} ${message.relPath}`);
      const begun = run === undefined ? x1 + SLANT : placeOf(Date.parse(run.since), span, width);
      const x2 = Math.max(x1, begun);
      return x2 < 0 || x1 > width ? [] : [{ message, at, to, x1, x2 }];
    });
  });
}

/** A run in pixels from the left edge. */
interface PlacedRun {
  run: WebRun;
  /** Start, in milliseconds. */
  at: number;
  x: number;
  width: number;
}

/** A message to one addressee, in pixels from the left edge. */
interface PlacedMessage {
  message: WebArrow;
  /** When it was written, in milliseconds. */
  at: number;
  to: string;
  x1: number;
  x2: number;
}

/** Runs that are drawn as one bar; in pixels. */
interface BarGroup {
  runs: [WebRun, ...WebRun[]];
  x: number;
  width: number;
}

/** Messages that are drawn as one arrow; in pixels. */
interface ArrowGroup {
  messages: [WebArrow, ...WebArrow[]];
  to: string;
  x1: number;
  x2: number;
}

/**
 * Draws the runs of a lane together that start in the same cell of time; from left to right. Cells are counted from
 * 1970, so that the groups stay the same while the picture moves on.
 *
 * @param cell milliseconds; 0 leaves each on its own
 */
function groupedBars(runs: readonly PlacedRun[], cell: number): BarGroup[] {
  const groups = new Map<string | number, BarGroup>();
  for (const [index, { run, at, x, width }] of runs.entries()) {
    // Runs that are only concluded from messages are drawn in another way than observed ones.
    const kind = run.known_from === 'record';
    const key =
      cell === 0 ? index : `${run.actor} ${String(kind)} ${String(Math.floor(at / cell))}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { runs: [run], x, width });
    else {
      group.runs.push(run);
      const end = Math.max(group.x + group.width, x + width);
      group.x = Math.min(group.x, x);
      group.width = end - group.x;
    }
  }
  return [...groups.values()].sort((a, b) => a.x - b.x);
}

/**
 * Draws the messages together that go the same way in the same cell of time, each group as long as
 * its messages are on average; from left to right.
 *
 * @param cell milliseconds; 0 leaves each on its own
 */
function groupedArrows(messages: readonly PlacedMessage[], cell: number): ArrowGroup[] {
  const groups = new Map<string | number, ArrowGroup & { sum1: number; sum2: number }>();
  for (const [index, { message, at, to, x1, x2 }] of messages.entries()) {
    const isAnswer = String(message.re.length > 0);
    const column = String(Math.floor(at / cell));
    const key = cell === 0 ? index : `${message.from} ${to} ${isAnswer} ${column}`;
    const group = groups.get(key);
    if (group === undefined)
      groups.set(key, { messages: [message], to, x1, x2, sum1: x1, sum2: x2 });
    else {
      group.messages.push(message);
      group.sum1 += x1;
      group.sum2 += x2;
    }
  }
  return [...groups.values()]
    .map(({ messages: some, to, sum1, sum2 }) => ({
      messages: some,
      to,
      x1: sum1 / some.length,
      x2: sum2 / some.length,
    }))
    .sort((a, b) => a.x1 - b.x1);
}
