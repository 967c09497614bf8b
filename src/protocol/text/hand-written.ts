import { documentOf, parseDocumentText, type Document } from './frontmatter.ts';
import { unreadable, type Parsed } from './result.ts';

/**
 * Parses a file that is written by hand for several programs, as {@link parseDocumentText} does, but the value of a
 * line such as `description: Use it. Triggers on: x` is a text, which strict YAML refuses for its second colon.
 */
export function parseHandWritten(file: string): Parsed<Document> {
  const strict = parseDocumentText(file);
  if (strict.ok || !strict.problems.some((problem) => problem.includes(NESTED))) return strict;
  const loose = documentOf(file, quotedValues);
  return loose.ok ? loose : unreadable(`${strict.problems.join('; ')}; put the value in quotes`);
}

/** Error of the `yaml` package for a second colon in a value. */
const NESTED = 'Nested mappings are not allowed in compact mappings';

/** Returns the header with quotes around values of one line that have a colon in them. */
function quotedValues(header: string): string {
  const lines = header.split('\n');
  return lines
    .map((line, at) => {
      const [, key, value] =
        /^([A-Za-z][\w-]{0,63}): +([^\s"'|>&*!%@`[\]{},#?-].*: .*)$/.exec(line) ?? [];
      // The value may continue in the next line.
      if (key === undefined || value === undefined || /^\s/.test(lines[at + 1] ?? '')) return line;
      return `${key}: ${JSON.stringify(value.trimEnd())}`;
    })
    .join('\n');
}
