import { broken, graphemes, widthOf } from './columns.ts';
import { trailingStart, withoutTrailing } from '../protocol/text/quoted.ts';

/** The text being typed; `cursor` counts UTF-16 units and is a position between characters. */
export interface Input {
  text: string;
  cursor: number;
}

export const EMPTY: Input = { text: '', cursor: 0 };

/** Returns a text with the cursor at its end. */
export function typed(text: string): Input {
  return { text, cursor: text.length };
}

/** The ways to move the cursor; deleting removes the text up to where the cursor would move. */
export type Motion =
  'left' | 'right' | 'wordLeft' | 'wordRight' | 'lineStart' | 'lineEnd' | 'start' | 'end';

export function insert({ text, cursor }: Input, more: string): Input {
  return {
    text: text.slice(0, cursor) + more + text.slice(cursor),
    cursor: cursor + more.length,
  };
}

export function move(input: Input, motion: Motion): Input {
  return { ...input, cursor: target(input, motion) };
}

/** Deletes the text between the cursor and where a motion would move it. */
export function erase(input: Input, motion: Motion): Input {
  const to = target(input, motion);
  const [from, end] = to < input.cursor ? [to, input.cursor] : [input.cursor, to];
  return { text: input.text.slice(0, from) + input.text.slice(end), cursor: from };
}

/** Moves the cursor one line up (-1) or down (1); undefined if there is no such line. */
export function vertical(input: Input, by: -1 | 1): Input | undefined {
  const { text, cursor } = input;
  const start = target(input, 'lineStart');
  const column = cursor - start;
  const other = by < 0 ? start - 1 : target(input, 'lineEnd') + 1;
  if (other < 0 || other > text.length) return undefined;
  const there = { text, cursor: other };
  const [from, to] = [target(there, 'lineStart'), target(there, 'lineEnd')];
  return { text, cursor: Math.min(from + column, to) };
}

function target({ text, cursor }: Input, motion: Motion): number {
  const before = text.slice(0, cursor);
  const after = text.slice(cursor);
  switch (motion) {
    case 'left':
      return cursor - (graphemes(before).at(-1)?.length ?? 0);
    case 'right':
      return cursor + (graphemes(after)[0]?.length ?? 0);
    case 'wordLeft':
      return trailingStart(withoutTrailing(before, /\s/), /\S/);
    case 'wordRight':
      return cursor + (/^\s*\S*/.exec(after)?.[0].length ?? 0);
    case 'lineStart':
      return before.lastIndexOf('\n') + 1;
    case 'lineEnd': {
      const end = after.indexOf('\n');
      return end < 0 ? text.length : cursor + end;
    }
    case 'start':
      return 0;
    case 'end':
      return text.length;
  }
}

/** The text being typed as rows on the screen, and the position of the cursor in them. */
export interface InputRows {
  rows: string[];
  row: number;
  column: number;
}

/** Breaks the typed text into rows, at any character, as a terminal does. */
export function inputRows({ text, cursor }: Input, width: number): InputRows {
  const before = rowsOf(text.slice(0, cursor), width);
  const column = widthOf(before.at(-1) ?? '');
  const whole = rowsOf(text, width);
  // At the end of a full row the cursor is at the beginning of the next row.
  const over = column >= width;
  if (over && whole.length === before.length) whole.push('');
  return {
    rows: whole,
    row: before.length - 1 + (over ? 1 : 0),
    column: over ? 0 : column,
  };
}

function rowsOf(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => broken(line, width));
}
