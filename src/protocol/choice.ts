import type { Message } from './message.ts';
import { isOption, MAX_OPTIONS } from './talk.ts';
import { escapeInvisible } from './text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from './text/result.ts';

/**
 * Whether a message is a final answer: a reply to it asks anew (talk.md). An interim answer does not
 * end its question, and a question is no answer.
 */
export function isFinalAnswer({ re, interim, asks }: Message): boolean {
  return re.length > 0 && interim !== true && asks !== true;
}

/** The problem of some texts as the options of a question; undefined if there is none. */
export function optionsProblem(options: readonly string[]): string | undefined {
  if (options.length > MAX_OPTIONS)
    return `${String(options.length)} options; a question has at most ${String(MAX_OPTIONS)}`;
  const texts: readonly unknown[] = options;
  const wrong = texts.find((text) => !isOption(text));
  if (wrong !== undefined)
    return `${shown(wrong)} is no option: expected one line of at most 200 characters`;
  const twice = options.find((option, at) => options.indexOf(option) !== at);
  return twice === undefined ? undefined : `${shown(twice)} is there twice`;
}

/** The options of a question as people see them: numbered, each on one line, nothing hidden. */
export function optionLines(options: readonly string[]): string[] {
  return options.map((option, at) => `${String(at + 1)}) ${escapeInvisible(option)}`);
}

/** The text of a reply, and the number of the option that it chooses. */
export interface ChosenText {
  body: string;
  /** From 1; absent when no option was chosen. */
  chosen?: number;
}

/**
 * The text of a reply to a message: that of the option that is chosen, with the reply's own text
 * below it. A text that is nothing but an option's number chooses it too, unless it is the text of an
 * option; another number chooses nothing, and is no text either.
 *
 * @param given `option`: the number, as typed
 */
export function replyText(
  options: readonly string[],
  { option, body }: { option?: string; body: string },
): Parsed<ChosenText> {
  const own = body.trim();
  if (option !== undefined) {
    const text = optionAt(options, option);
    if (text === undefined) return unreadable(wrongOption(options, option));
    return parsed({
      body: own === '' ? text : `${text}\n\n${body}`,
      chosen: Number(option),
    });
  }
  if (options.length === 0 || options.includes(own) || !/^\d{1,2}$/.test(own))
    return parsed({ body });
  const text = optionAt(options, own);
  return text === undefined
    ? unreadable(`${shown(own)} is none of the options: ${expected(options)}`)
    : parsed({ body: text, chosen: Number(own) });
}

function optionAt(options: readonly string[], number: string): string | undefined {
  return /^[1-9]\d?$/.test(number) ? options[Number(number) - 1] : undefined;
}

function wrongOption(options: readonly string[], given: string): string {
  if (options.length === 0)
    return `--option ${shown(given)}: that message offers no options; leave --option out and give a text`;
  return `--option ${shown(given)}: ${expected(options)}`;
}

function expected(options: readonly string[]): string {
  return `expected a number from 1 to ${String(options.length)}: ${optionLines(options).join(', ')}`;
}
