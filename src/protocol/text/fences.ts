/** The line before and after a header. */
export const FENCE = '---';
/** The byte order mark, which editors of Windows write at the beginning of a file. */
export const BYTE_ORDER_MARK = '\ufeff';

/**
 * Returns the place of a file's header, for code that changes a part of it: the start of its first line, and
 * that of the line that closes it. Undefined if there is none.
 */
export function headerPlace(file: string): { start: number; end: number } | undefined {
  const begin = file.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const firstBreak = file.indexOf('\n');
  if (firstBreak < 0 || lineOf(file.slice(begin, firstBreak)) !== FENCE) return undefined;
  const close = closingFence(file, firstBreak + 1);
  return close && { start: firstBreak + 1, end: close.start };
}

/** Finds the line that closes a header: its start, and that of the body. */
export function closingFence(
  text: string,
  from: number,
): { start: number; after: number } | undefined {
  for (let start = from; start < text.length;) {
    const lineBreak = text.indexOf('\n', start);
    const end = lineBreak < 0 ? text.length : lineBreak;
    if (lineOf(text.slice(start, end)) === FENCE) {
      return { start, after: Math.min(end + 1, text.length) };
    }
    start = end + 1;
  }
  return undefined;
}

/** Returns a line without the invisible characters that an editor may leave at its end. */
export function lineOf(text: string): string {
  return text.length > 256 ? text : text.trimEnd();
}
