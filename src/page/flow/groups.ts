import type { WebArrow, WebRun } from '../../api/api.ts';

/** A run in pixels from the left edge. */
export interface PlacedRun {
  run: WebRun;
  /** When it began, in milliseconds. */
  at: number;
  x: number;
  width: number;
}

/** A message to one addressee, in pixels from the left edge. */
export interface PlacedMessage {
  message: WebArrow;
  /** When it was written, in milliseconds. */
  at: number;
  to: string;
  x1: number;
  x2: number;
}

/** Runs that are drawn as one bar; in pixels. */
export interface BarGroup {
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
 * Draws the runs of a lane together that begin in the same cell of time; from left to right. Cells
 * are counted from 1970, so that the groups stay the same while the picture moves on.
 *
 * @param cell milliseconds; 0 leaves each on its own
 */
export function groupedBars(runs: readonly PlacedRun[], cell: number): BarGroup[] {
  const groups = new Map<string | number, BarGroup>();
  for (const [index, { run, at, x, width }] of runs.entries()) {
    // What is only concluded from messages is drawn in another way than what was seen.
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
export function groupedArrows(messages: readonly PlacedMessage[], cell: number): ArrowGroup[] {
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
