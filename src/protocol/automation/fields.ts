import { parseRecipients, type Address } from '../address.ts';
import type { HeaderFields } from '../text/frontmatter.ts';
import { shown } from '../text/result.ts';

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
