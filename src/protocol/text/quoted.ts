/** Everything but the printable characters of ASCII. */
const UNPLAIN = /[^\x20-\x7e]/g;
/** Control, format, private and unassigned characters, other line ends, and all that is not drawn. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Text that a person decides by, as a JSON string of printable ASCII alone: no escape sequence,
 * colour, direction, invisible or look-alike character hides a part of it. `JSON.parse` gives the
 * text back (trust.md §2).
 */
export function asAsciiJson(text: string): string {
  return asAscii(JSON.stringify(text));
}

/** A JSON text that says the same in printable ASCII, and line feeds. */
export function asAscii(json: string): string {
  return json.replace(UNPLAIN, (character) => (character === '\n' ? '\n' : unit(character)));
}

/** A JSON string whose letters stay as they are, in any script; what cannot be seen is escaped. */
export function visible(text: string): string {
  return escapeInvisible(JSON.stringify(text));
}

/** Text on one line, with `\\u` in the place of every character that is not drawn. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => character.split('').map(unit).join(''));
}

function unit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
