import { isName } from '../../protocol/names.ts';
import { trailingStart } from '../../protocol/text/trailing.ts';

/** The part of a list of recipients that is being typed. */
export interface Typing {
  /** Where it begins and ends in the whole text. */
  start: number;
  end: number;
  text: string;
}

/** What is being typed at `caret` in `a, b@host, c`. */
export function typingAt(text: string, caret: number): Typing {
  const before = text.slice(0, caret);
  const start = trailingStart(before, /[^,\s]/);
  const end = caret + (/^[^,\s]*/.exec(text.slice(caret))?.[0].length ?? 0);
  return { start, end, text: text.slice(start, end) };
}

/**
 * Recipients that could be meant, those that begin with what was typed first.
 *
 * @param taken those that are in the list already
 */
export function suggested(
  typed: string,
  known: readonly string[],
  taken: readonly string[],
  limit = 8,
): string[] {
  const wanted = typed.toLowerCase();
  const free = known.filter((name) => !taken.includes(name) || name === typed);
  const beginning = free.filter((name) => name.toLowerCase().startsWith(wanted));
  const within = free.filter(
    (name) => !beginning.includes(name) && wanted !== '' && name.toLowerCase().includes(wanted),
  );
  return [...beginning, ...within].slice(0, limit);
}

/** Puts a chosen recipient where one was being typed; returns the text and where the caret goes. */
export function completed(
  text: string,
  typing: Typing,
  chosen: string,
): { text: string; caret: number } {
  const rest = text.slice(typing.end).replace(/^[\s,]+/, '');
  const head = `${text.slice(0, typing.start)}${chosen}, `;
  return { text: head + rest, caret: head.length };
}

/** The recipients of a list. */
export function listed(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

/** What is wrong with a list of recipients, in words, or undefined. */
export function recipientProblem(text: string): string | undefined {
  const names = listed(text);
  if (names.length === 0) return 'Say who the message is for.';
  const wrong = names.find((name) => !name.split('@', 2).every(isName) || /@.*@/.test(name));
  return wrong === undefined
    ? undefined
    : `“${wrong.slice(0, 40)}” is not a recipient: write a name, or name@host.`;
}
