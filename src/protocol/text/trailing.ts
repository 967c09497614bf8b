/**
 * The start of the run of some characters with which a text ends; the text's length when there is
 * no such run. A regular expression such as `/\n+$/` finds the same, but in a time that grows with
 * the square of a run anywhere else in the text.
 *
 * @param part matches one character of the run
 */
export function trailingStart(text: string, part: RegExp): number {
  let at = text.length;
  while (at > 0 && part.test(text.charAt(at - 1))) at--;
  return at;
}

/** Removes the run of these characters from the end of a text. */
export function withoutTrailing(text: string, part: RegExp): string {
  return text.slice(0, trailingStart(text, part));
}
