import type { WebActor } from '../../api/api.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { isName } from '../../protocol/layout.ts';
import { trailingStart } from '../../protocol/text/quoted.ts';
import { unservedInWords } from '../../present/holds.ts';

/** The recipient that is being typed within a list. */
export interface Typing {
  /** Its start and end in the whole text. */
  start: number;
  end: number;
  text: string;
}

/** Returns the recipient that is being typed at `caret` in `a, b@host, c`. */
export function typingAt(text: string, caret: number): Typing {
  const before = text.slice(0, caret);
  const start = trailingStart(before, /[^,\s]/);
  const end = caret + (/^[^,\s]*/.exec(text.slice(caret))?.[0].length ?? 0);
  return { start, end, text: text.slice(start, end) };
}

/**
 * Suggested recipients; names that begin with the typed text come first.
 *
 * @param taken the recipients that the list already contains
 */
export function suggested(
  typed: string,
  known: readonly string[],
  taken: readonly string[],
): string[] {
  const wanted = typed.toLowerCase();
  const free = known.filter((name) => !taken.includes(name) || name === typed);
  const beginning = free.filter((name) => name.toLowerCase().startsWith(wanted));
  const within = free.filter(
    (name) => !beginning.includes(name) && wanted !== '' && name.toLowerCase().includes(wanted),
  );
  return [...beginning, ...within];
}

/**
 * Inserts a chosen recipient in place of the typed one; returns the text and the new position of
 * the caret.
 */
export function completed(
  text: string,
  typing: Typing,
  chosen: string,
): { text: string; caret: number } {
  const rest = text.slice(typing.end).replace(/^[\s,]+/, '');
  const head = `${text.slice(0, typing.start)}${chosen}, `;
  return { text: head + rest, caret: head.length };
}

/** Returns the recipients of a list. */
export function listed(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

/** Returns the problem of a list of recipients, in words, or undefined. */
export function recipientProblem(text: string): string | undefined {
  const names = listed(text);
  if (names.length === 0) return 'Say who the message is for.';
  const wrong = names.find((name) => !name.split('@', 2).every(isName) || /@.*@/.test(name));
  return wrong === undefined
    ? undefined
    : `“${wrong.slice(0, 40)}” is not a recipient: write a name, or name@host.`;
}

/** Returns a warning for each recipient that no host serves and that is not a person. */
export function unservedAmong(
  text: string,
  { actors, people }: { actors: readonly WebActor[]; people: readonly string[] },
): string[] {
  if (recipientProblem(text) !== undefined) return [];
  return [...new Set(listed(text))].flatMap((address) => {
    const [name = '', host] = address.split('@');
    if (name === EVERYONE || people.includes(address)) return [];
    const serving = (actors.find((one) => one.name === name)?.hosts ?? []).map(
      ({ alias }) => alias,
    );
    const there = host === undefined ? serving.length > 0 : serving.includes(host);
    return there ? [] : [unservedInWords(address, serving)];
  });
}
