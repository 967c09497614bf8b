/**
 * Where the run of some characters begins with which a text ends; its length when there is none. A
 * regular expression such as `/\n+$/` finds the same in a time that grows with the square of a run
 * that stands anywhere else in the text.
 *
 * @param part one character of the run
 */
export function trailingStart(text: string, part: RegExp): number {
  let at = text.length;
  while (at > 0 && part.test(text.charAt(at - 1))) at--;
  return at;
}

/** A text without the run of these characters at its end. */
export function withoutTrailing(text: string, part: RegExp): string {
  return text.slice(0, trailingStart(text, part));
}
