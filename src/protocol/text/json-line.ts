import { withoutSequences } from './words.ts';

/** Most characters that are examined for the output of a wrapper around an object. */
const MAX_AROUND = 1024;

/**
 * Parses the JSON object on a line; undefined if it was cut off or is not one. Output of a wrapper for a
 * terminal may be around it: colours, a title, a byte order mark.
 */
export function objectOn(line: string): Record<string, unknown> | undefined {
  const text = bare(line);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/**
 * Finds the possible start of an object on a line, after control sequences and invisible characters; -1 if
 * there is none.
 */
export function beginOfObject(line: string): number {
  if (line.startsWith('{')) return 0;
  const begin = line.slice(0, MAX_AROUND).indexOf('{');
  return begin > 0 && isUnseen(line.slice(0, begin)) ? begin : -1;
}

function bare(line: string): string | undefined {
  const begin = beginOfObject(line);
  if (begin < 0) return undefined;
  const end = line.lastIndexOf('}') + 1;
  const isAround = line.length - end <= MAX_AROUND && isUnseen(line.slice(end));
  return isAround ? line.slice(begin, end) : line.slice(begin);
}

function isUnseen(text: string): boolean {
  return withoutSequences(text).trim() === '';
}
