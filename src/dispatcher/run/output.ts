import { OUTPUT_FORMATS } from '../../agents/output/formats.ts';
import { acp } from '../../agents/output/acp.ts';
import type { ReadOutput } from '../../agents/output/reader.ts';
import { passed } from '../../crash-points.ts';
import { linesOfFile } from '../../runner/raw-output.ts';
import type { InvocationResult } from '../../runner/runner.ts';

/**
 * Reads the JSON output of a CLI: its answer becomes `stdout`, as if it had printed that.
 *
 * @param form a known agent CLI, or `acp` for messages of the Agent Client Protocol
 */
export async function readOutput(
  form: string | undefined,
  result: InvocationResult,
): Promise<InvocationResult> {
  const { raw, stderrTail } = result;
  if (form === undefined || raw === undefined) return result;
  passed('raw_recorded');
  const {
    text = form === 'acp' ? undefined : raw.plainText(),
    error,
    usage,
    isFinal,
    session,
    context,
  } = await readLines(form, raw.lines(), stderrTail);
  passed('raw_read');
  return {
    ...result,
    stdout: text === undefined || text.trim() === '' ? '' : `${text.trimEnd()}\n`,
    ...(error !== undefined && { reported: result.reported ?? error }),
    ...(text === undefined && raw.bytes > 0 && { unreadable: true as const }),
    ...(usage && { usage }),
    ...(isFinal !== undefined && { isFinal }),
    ...(session !== undefined && { session }),
    ...(context && { context }),
  };
}

/** Reads the output that a dead dispatcher has left of a run, in its form. */
export function readLeftOutput(form: string, path: string): Promise<ReadOutput> {
  return readLines(form, linesOfFile(path), '');
}

async function readLines(
  form: string,
  lines: AsyncIterable<string> | Iterable<string>,
  stderr: string,
): Promise<ReadOutput> {
  const reader = form === 'acp' ? acp() : OUTPUT_FORMATS[form]?.reader();
  if (reader === undefined) return {};
  try {
    for await (const line of lines) reader.line(line);
  } catch {
    // A file that cannot be read to its end has given all it could.
  }
  return reader.end(stderr);
}
