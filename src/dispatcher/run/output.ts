import { OUTPUT_FORMATS } from '../../agents/output/formats.ts';
import type { PlainCall } from '../../agents/output/plain-call.ts';
import type { ReadOutput } from '../../agents/output/reader.ts';
import { passed } from '../../crash-points.ts';
import { linesOfFile } from '../../runner/raw-output.ts';
import type { InvocationResult } from '../../runner/runner.ts';

/** Reads what a CLI has printed in JSON: its answer becomes `stdout`, as if it had printed that. */
export async function readOutput(
  call: PlainCall | undefined,
  result: InvocationResult,
): Promise<InvocationResult> {
  const { raw, stderrTail } = result;
  if (call === undefined || raw === undefined) return result;
  passed('raw_recorded');
  const {
    text = raw.plainText(),
    error,
    usage,
    session,
  } = await readLines(call.agent, raw.lines(), stderrTail);
  passed('raw_read');
  return {
    ...result,
    stdout: text === undefined || text.trim() === '' ? '' : `${text.trimEnd()}\n`,
    ...(error !== undefined && { reported: error }),
    ...(text === undefined && raw.bytes > 0 && { unreadable: true as const }),
    ...(usage && { usage }),
    ...(session !== undefined && { session }),
  };
}

/** Reads the output that a dead dispatcher has left of a run. */
export function readLeftOutput(agent: string, path: string): Promise<ReadOutput> {
  return readLines(agent, linesOfFile(path), '');
}

async function readLines(
  agent: string,
  lines: AsyncIterable<string> | Iterable<string>,
  stderr: string,
): Promise<ReadOutput> {
  const reader = OUTPUT_FORMATS[agent]?.reader();
  if (reader === undefined) return {};
  try {
    for await (const line of lines) reader.line(line);
  } catch {
    // A file that cannot be read to its end has told what it could.
  }
  return reader.end(stderr);
}
