import type { Context } from '../../operations/context.ts';
import { readMessage } from '../../operations/reading/read.ts';
import { replies, type Replied } from '../../operations/reading/replies.ts';
import { oneLine } from './untrusted.ts';
import type { ToolCall } from './tool.ts';

/** Milliseconds between two reports of progress. */
const REPORT_MS = 5000;
/** The most names in one report. */
const MOST_NAMES = 3;

/**
 * The replies to some messages, waiting as long as requested. Meanwhile a client that requested
 * progress is told for whom and how long: at the start, and every few seconds.
 *
 * @param waiting `timeout` in seconds; without it, returns the replies that exist now
 * @throws the reason of the call's signal when that is aborted
 */
export async function awaitReplies(
  context: Context,
  messages: string[],
  { signal, progress }: Pick<ToolCall, 'signal' | 'progress'>,
  waiting?: { wait: 'all' | 'any'; timeout: number },
): Promise<{ complete: boolean; found: Replied[] }> {
  if (waiting === undefined) return replies(context, { messages, timeout: 0, signal });
  const { wait, timeout } = waiting;
  const asked = { messages, wait, timeout: timeout * 1000, signal };
  if (progress === undefined) return replies(context, asked);
  const whom = await addressees(context, messages);
  const started = context.now().getTime();
  const report = (): void => {
    const seconds = Math.round((context.now().getTime() - started) / 1000);
    // A client that has gone is noticed elsewhere.
    void progress(seconds, timeout, `waiting for ${whom} (${String(seconds)} s)`).catch(
      () => undefined,
    );
  };
  report();
  const timer = setInterval(report, REPORT_MS);
  try {
    return await replies(context, asked);
  } finally {
    clearInterval(timer);
  }
}

async function addressees(context: Context, messages: readonly string[]): Promise<string> {
  const read = await Promise.all(
    messages.map((given) =>
      readMessage(context, given).then(
        ({ message }) => message.to.map(({ name }) => name),
        () => [],
      ),
    ),
  );
  const names = [...new Set(read.flat())];
  const more = names.length - MOST_NAMES;
  const listed = names.slice(0, MOST_NAMES).map(oneLine).join(', ');
  return `${listed === '' ? 'an answer' : listed}${more > 0 ? ` and ${String(more)} more` : ''}`;
}
