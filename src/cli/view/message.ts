import { suffixOf } from '../../protocol/names.ts';
import { colourless, type painter } from './render.ts';

export type Paint = ReturnType<typeof painter>;

const COLOURS = ['cyan', 'green', 'yellow', 'magenta', 'blue', 'red'] as const;
const SHORT_SUFFIX = 8;

/** A name in its colour, which is the same everywhere. */
export function actor(paint: Paint, name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xffffff;
  return paint(COLOURS[hash % COLOURS.length] ?? 'cyan', name);
}

/** The first digits of a message's suffix, by which it may be named in a command. */
export function shortName(relPath: string): string {
  return suffixOf(relPath).slice(0, SHORT_SUFFIX);
}

/** A time in this machine's time zone, such as `2026-06-09 21:00:00`. */
export function localTime(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
}

/** A text with every time of ISO 8601 in this machine's time zone. */
export function localTimes(text: string): string {
  return text.replace(
    /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d\b)/g,
    (time) => {
      const at = new Date(time);
      return Number.isNaN(at.getTime()) ? time : localTime(at);
    },
  );
}

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(\s|$)/;

/**
 * A message's text for a terminal: headings bold, code dim, everything else unchanged. Nothing in
 * it can control the terminal. Blank lines at its end are removed.
 */
export function body(paint: Paint, text: string): string {
  let fence = '';
  const lines = colourless(text).trimEnd().split('\n');
  const painted = lines.map((line) => {
    const [opening = '', mark = ''] = FENCE.exec(line) ?? [];
    if (fence !== '') {
      if (mark.startsWith(fence) && line.slice(opening.length).trim() === '') fence = '';
      return paint('dim', line);
    }
    fence = mark;
    if (mark !== '') return paint('dim', line);
    return HEADING.test(line) ? paint('bold', line) : line;
  });
  return painted.join('\n');
}
