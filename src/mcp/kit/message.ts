import type { MessageJson } from '../../operations/shapes/as-json.ts';
import type { Untrusted } from './untrusted.ts';

/**
 * A message for a result: its text, the answers that it offers, the schema that it names, what its
 * sender called the files that it brings along, and why a branch was held are marked as untrusted.
 *
 * @param offset the number of characters of the text to leave out at its beginning
 */
export function markedMessage(marks: Untrusted, json: MessageJson, offset = 0): object {
  const { relPath, from, body, options, files, schema, branch } = json;
  const more = (at: number): string => readOn(relPath, at);
  const whole = (): string => readOn(relPath, 0);
  return {
    ...json,
    ...(options && { options: options.map((option) => marks.mark(option, from, whole)) }),
    ...(schema !== undefined && { schema: marks.mark(schema, from, whole) }),
    ...(files && {
      files: files.map((file) => ({ ...file, name: marks.mark(file.name, from, whole) })),
    }),
    ...(branch?.held !== undefined && {
      branch: { ...branch, held: marks.mark(branch.held, from, whole) },
    }),
    body: marks.mark(body, from, more, offset),
  };
}

/** How a caller can continue to read where a text was cut. */
function readOn(relPath: string, offset: number): string {
  return `read with ${JSON.stringify({ message: relPath, offset })}`;
}
