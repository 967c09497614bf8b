import { escapeInvisible } from './quoted.ts';

/** Result of parsing untrusted text: the typed value, or every problem found in it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: string[] };

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function unreadable(...problems: string[]): Parsed<never> {
  return { ok: false, problems };
}

/** Renders a value from a file for an error message: shortened, on one line and with invisible characters escaped. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : describe(value);
  const flat = escapeInvisible(text.slice(0, 61).replace(/[\t\r\n]/g, ' '));
  return `"${flat.length > 60 ? `${flat.slice(0, 57)}...` : flat}"`;
}

/** Parses a whole number from 1 to `most` in a header. */
export function wholeIn(value: unknown, most: number): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  return Number.isInteger(number) && number >= 1 && number <= most ? number : undefined;
}

/** Longest reason, in characters: it may quote a word of any length from a file. */
const MAX_REASON = 200;

/** Removes the middle of a reason that is too long: the place in the file is at its end. */
export function shortened(reason: string): string {
  if (reason.length <= MAX_REASON) return reason;
  return `${reason.slice(0, MAX_REASON / 2)} ... ${reason.slice(-MAX_REASON / 2)}`;
}

function describe(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
