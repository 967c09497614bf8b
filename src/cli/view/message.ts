import { suffixOf } from '../../protocol/layout.ts';
import { colourless, type painter } from './render.ts';
import type { PutFile } from '../../actions/reading/message-files.ts';
import { sizeInWords, type AttachedFile } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Call } from '../command/command.ts';

import { verifiedWords } from '../../present/marks.ts';

export type Paint = ReturnType<typeof painter>;

const COLOURS = ['cyan', 'green', 'yellow', 'magenta', 'blue', 'red'] as const;
const SHORT_SUFFIX = 8;

/** Returns a name in its colour, which is the same everywhere. */
export function actor(paint: Paint, name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xffffff;
  return paint(COLOURS[hash % COLOURS.length] ?? 'cyan', name);
}

/** Returns the first digits of a message's suffix, by which it may be named in a command. */
export function shortName(relPath: string): string {
  return suffixOf(relPath).slice(0, SHORT_SUFFIX);
}

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(\s|$)/;

/**
 * Returns a message's text for a terminal: headings bold, code dim, everything else unchanged. Nothing in it can
 * control the terminal. Blank lines at its end are removed.
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

/** Returns an attached file in one line; its name is the one that its sender wrote. */
export function fileLine({ name, bytes, type }: AttachedFile): string {
  return `${shown(name)} (${type}, ${sizeInWords(bytes)})`;
}

/** Words the outcome of an attached file that was to be put into a folder. */
export function putLine({ file, path, problem }: PutFile): string {
  return path === undefined ? `${fileLine(file)} ${problem ?? ''}` : `${fileLine(file)}: ${path}`;
}

/**
 * Returns the mark of a message whose writer's name has a pinned key here, to be shown after that name; none for any
 * other message.
 */
export function verifiedMark(
  paint: ReturnType<typeof painter>,
  verified: boolean | undefined,
): string[] {
  return verifiedWords(verified).map((word) => paint(verified === true ? 'green' : 'red', word));
}

/** Returns the same call, in which no line is repeated on stderr: sending and waiting find the same things. */
export function withoutRepeats(call: Call): Call {
  const said = new Set<string>();
  const err = (text: string): void => {
    if (!said.has(text)) call.io.err(text);
    said.add(text);
  };
  return { ...call, io: { ...call.io, err } };
}
