import { escapeInvisible } from './quoted.ts';

/** The result of parsing untrusted text: the typed value, or every problem found in it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: string[] };

/** The result of successful parsing. */
export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** The result of parsing that failed, with every problem found. */
export function unreadable(...problems: string[]): Parsed<never> {
  return { ok: false, problems };
}

/**
 * A value from a file, shortened, on one line and with invisible characters escaped, for an error
 * message.
 */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : describe(value);
  const flat = escapeInvisible(text.slice(0, 61).replace(/[\t\r\n]/g, ' '));
  return `"${flat.length > 60 ? `${flat.slice(0, 57)}...` : flat}"`;
}

/** The longest reason, in characters: it may quote a word of any length from a file. */
const MAX_REASON = 200;

/** A reason without its middle, if it is too long: the place in the file is at its end. */
export function shortened(reason: string): string {
  if (reason.length <= MAX_REASON) return reason;
  return `${reason.slice(0, MAX_REASON / 2)} ... ${reason.slice(-MAX_REASON / 2)}`;
}

function describe(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
