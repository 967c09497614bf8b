/** Every character except the printable ones of ASCII. */
const UNPLAIN = /[^\x20-\x7e]/g;

/**
 * Renders a text on which a person bases a decision as a JSON string of printable ASCII: no escape sequence, colour,
 * direction, invisible or look-alike character can hide a part of it. `JSON.parse` returns the text (trust.md §2).
 */
export function asAsciiJson(text: string): string {
  return asAscii(JSON.stringify(text));
}

/** Returns an equivalent JSON text in printable ASCII and line feeds. */
export function asAscii(json: string): string {
  return json.replace(UNPLAIN, (character) => (character === '\n' ? '\n' : unit(character)));
}

/** Renders a text as a JSON string whose letters of any script are unchanged; invisible characters are escaped. */
export function visible(text: string): string {
  return escapeInvisible(JSON.stringify(text));
}

/** Escapes all invisible characters of a text on one line as `\\u`. */
export function escapeInvisible(text: string): string {
  // Control, format, private and unassigned characters, unusual line ends, and all other invisible ones.
  return text.replace(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (character) =>
    character.split('').map(unit).join(''),
  );
}

/** Escapes the invisible characters of a text that may have several lines. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeInvisible).join('\n');
}

function unit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Quotes a text as one word of a line for `/bin/sh`, which replaces nothing in it. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Whether a text is on one line, has no control characters, and is not blank. */
export function isOneLine(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && !/\p{Cc}/u.test(value);
}

/**
 * Returns the start of the run of some characters with which a text ends; the text's length when there is no such run.
 * A regular expression such as `/\n+$/` finds the same, but in a time that grows with the square of a run anywhere else
 * in the text.
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
