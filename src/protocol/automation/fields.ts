import { parseRecipients, type Address } from '../address.ts';
import { headerPlace } from '../text/fences.ts';
import type { HeaderFields } from '../text/frontmatter.ts';
import { shown } from '../text/result.ts';
import { type Message } from '../message.ts';
import { type Channel } from '../files/channel.ts';

/** Reports a problem of a header's field, and the expected value. */
export type Wrong = (field: string, expected: string) => void;

/**
 * Returns a function that reports problems with the fields of a file, each with its line and value.
 *
 * @param problems receives a sentence for each
 */
export function wrongIn(text: string, fields: HeaderFields, problems: string[]): Wrong {
  return (field, expected) => {
    const value = fields[field];
    problems.push(
      value === undefined || value === ''
        ? `${field} is missing, expected ${expected}`
        : `${linesOf(text, [field])}${field} is ${shown(value)}, expected ${expected}`,
    );
  };
}

/** Returns the lines of a file on which fields of its header are, as the beginning of a sentence about them. */
export function linesOf(text: string, fields: readonly string[]): string {
  const lines = text.split('\n').map((line) => line.replace(/^["']/, ''));
  const found = fields.flatMap((field) => {
    const at = lines.findIndex(
      (line) => line.startsWith(field) && /^["']?\s*:/.test(line.slice(field.length)),
    );
    return at < 0 ? [] : [at + 1];
  });
  if (found.length === 0) return '';
  return `${found.length > 1 ? 'lines' : 'line'} ${found.join(' and ')}: `;
}

/** Parses the names in a field such as `to`: one text, or a list of texts; undefined for anything else. */
export function recipientsIn(value: unknown): Address[] | undefined {
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (!list.every((one) => typeof one === 'string')) return undefined;
  const { to, problems } = parseRecipients(list.join(','));
  return problems.length === 0 && to.length > 0 ? to : undefined;
}

/** Parses a field that is `true` or `false`; anything else is reported. */
export function switchIn(
  fields: HeaderFields,
  field: string,
  usual: 'true' | 'false',
  wrong: Wrong,
): boolean {
  const value = fields[field] ?? usual;
  if (value !== 'true' && value !== 'false') wrong(field, 'true or false');
  return value === 'true';
}

/**
 * Joins problems into one sentence without their lines: an author who gave options has not seen the resulting
 * file, so that its lines mean nothing to them.
 */
export function withoutLines(problems: readonly string[]): string {
  return problems.map((problem) => problem.replace(/^lines? \d+(?: and \d+)*: /, '')).join('; ');
}

/** Returns the text of a file with its line `enabled` changed, and everything else unchanged. */
export function withEnabled(text: string, enabled: boolean): string {
  const line = `enabled: ${String(enabled)}`;
  const { end } = headerPlace(text) ?? { end: 0 };
  const header = text.slice(0, end);
  const changed = /^enabled:.*$/m.test(header)
    ? header.replace(/^enabled:.*$/m, line)
    : `${header}${line}\n`;
  return changed + text.slice(end);
}

/** Whether a message ends the work on another: an answer that is not an interim one, or the notice of a failure. */
export function isAnswerTo(
  { re, interim }: Pick<Message, 're' | 'interim'>,
  relPath: string,
): boolean {
  return interim !== true && re.includes(relPath);
}

/** Finds the channel with an id or a name, or returns the reason why there is not exactly one. */
export function channelNamed(
  channels: readonly Channel[],
  wanted: string,
): { id: string } | { problem: string } {
  const [only, ...more] = channels.filter(({ id, name }) => id === wanted || name === wanted);
  if (only === undefined) return { problem: `there is no channel ${shown(wanted)}` };
  return more.length === 0 ? only : { problem: `several channels are called ${shown(wanted)}` };
}

/** Attribution of a run's usage beside its place and its thread; absent fields are not written. */
export interface CountedFor {
  /** The skills that its prompt contained, in alphabetical order. */
  skills?: string[];
  /** The subscription that sent its task, or the nearest one behind that. */
  subscription?: string;
}
