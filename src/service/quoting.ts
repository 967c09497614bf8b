import { CrosstalkError } from '../errors.ts';

/**
 * Escapes a value of a unit file in which only specifiers have a meaning, such as a path or a
 * description.
 *
 * @throws CrosstalkError `refused` for a value that such a file cannot contain on one line
 */
export function unitValue(value: string): string {
  return oneLine(value, 'a unit file').replaceAll('%', '%%');
}

/** A path in a unit file for a setting without quotes, where blanks at its ends would be lost. */
export function unitPath(path: string): string {
  if (path.trim() === path && !path.endsWith('\\')) return unitValue(path);
  throw refused(path, 'a unit file');
}

/** The program of `ExecStart=`. No variables are expanded in it, so it keeps its `$`. */
export function unitProgram(word: string): string {
  return `"${unitValue(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** One word of `ExecStart=` after the program. */
export function unitWord(word: string): string {
  return unitProgram(word).replaceAll('$', '$$$$');
}

/** Escapes text for a property list. */
export function xmlText(text: string): string {
  return oneLine(text, 'a property list')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** Quotes one word of a line for `/bin/sh`. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function oneLine(text: string, where: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  throw refused(text, where);
}

function refused(text: string, where: string): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `${JSON.stringify(text)} cannot stand in ${where}: it has control characters, blanks at an end or a backslash there; rename it`,
  );
}
