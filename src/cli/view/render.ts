import { styleText } from 'node:util';
import { colourless } from '../../protocol/text/words.ts';
import type { Io } from '../command/io.ts';
import { withoutTrailing } from '../../protocol/text/quoted.ts';

export { colourless };

type Style = Parameters<typeof styleText>[0];

/** Whether a terminal shows more than plain text: not one that is dumb. */
export function isCapable(env: Io['env']): boolean {
  return env['TERM'] !== 'dumb';
}

/** Colours text when stdout is a capable terminal and `NO_COLOR` is unset. */
export function painter(io: Pick<Io, 'env' | 'outIsTty'>): (style: Style, text: string) => string {
  const on = io.outIsTty && isCapable(io.env) && (io.env['NO_COLOR'] ?? '') === '';
  // The caller has already decided whether to colour, and its stdout may differ from this
  // process's.
  return (style, text) => (on ? styleText(style, text, { validateStream: false }) : text);
}

/** Formats rows in columns, two spaces apart, without trailing blanks. */
export function table(rows: readonly (readonly string[])[], indent = ''): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows
    .map(
      (row) =>
        indent +
        row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd(),
    )
    .join('\n');
}

const LONGEST_CELL = 100;

/** Returns a text of somebody else as one cell of a table, so that it cannot form a row of its own. */
export function cell(value: string, longest = LONGEST_CELL): string {
  const line = colourless(value.replace(/[\s\p{Cc}]+/gu, ' ')).trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** Indents each line. */
export function indent(text: string, by = '  '): string {
  return withoutTrailing(text, /\n/)
    .replace(/^/gm, by)
    .replace(/^[ ]+$/gm, '');
}

/**
 * The colour sequences that this program writes; every other escape sequence loses its escape
 * character.
 */
// eslint-disable-next-line no-control-regex -- the escape character is what this is about
const COLOUR = /(\u001b\[[0-9;]*m)/;
/** Removes from a text everything that could control the terminal, such as moving its cursor. */
export function harmless(text: string): string {
  return text
    .split(COLOUR)
    .map((part, index) => (index % 2 === 1 ? part : colourless(part)))
    .join('');
}
