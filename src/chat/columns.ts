import stringWidth from 'string-width';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const MARK = '…';
/** Characters that are segmented at a time, because the time this takes grows with their square. */
const PIECE = 500;

/** Returns the number of columns a text takes on a terminal. */
export function widthOf(text: string): number {
  if (text.length <= PIECE) return stringWidth(text);
  return graphemes(text).reduce((width, one) => width + stringWidth(one), 0);
}

/** Returns the graphemes of a text: the characters as a reader sees them. */
export function graphemes(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const parts = Array.from(
      GRAPHEMES.segment(text.slice(at, at + PIECE)),
      ({ segment }) => segment,
    );
    // The last grapheme may continue in the next piece.
    if (at + PIECE < text.length && parts.length > 1) parts.pop();
    for (const part of parts) {
      found.push(part);
      at += part.length;
    }
  }
  return found;
}

/** Returns the beginning of a text that fits, with `…` at its end if something was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 0) return '';
  return `${take(text, width - 1)}${MARK}`;
}

/** Returns a text cut or padded to exactly this many columns. */
export function fit(text: string, width: number): string {
  const shown = cut(text, width);
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)));
}

function take(text: string, width: number): string {
  let taken = '';
  let used = 0;
  for (const one of graphemes(text)) {
    used += widthOf(one);
    if (used > width) break;
    taken += one;
  }
  return taken;
}

/**
 * Returns the lines of a text, broken between words where they are too long, and inside a word only if the word is
 * longer than a line. Blanks at the beginning of a line stay, so code keeps its indentation.
 *
 * @param width columns, at least 1
 */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.trimEnd(), Math.max(1, width)));
}

function wrapLine(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(/(?<=\S)(?=\s)/)) {
    if (widthOf(current + word) <= width) {
      current += word;
      continue;
    }
    const bare = current === '' ? word : word.trimStart();
    if (current !== '') lines.push(current);
    const parts = broken(bare, width);
    current = parts.pop() ?? '';
    for (const part of parts) lines.push(part);
  }
  return [...lines, current];
}

/** Breaks a text wherever a line is full; `…` replaces a character that is wider than a line. */
export function broken(text: string, width: number): string[] {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const whole of graphemes(text)) {
    const one = widthOf(whole) > width ? MARK : whole;
    const wide = widthOf(one);
    if (used + wide > width && current !== '') {
      lines.push(current);
      [current, used] = ['', 0];
    }
    current += one;
    used += wide;
  }
  return [...lines, current];
}
